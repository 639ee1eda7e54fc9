# SPDX-License-Identifier: GPL-2.0-or-later
"""users: a user who may call sudo, for the time of a test and visible only to its processes.

These run in a mount namespace of their own, with our files mounted over those of /etc.
"""
import os
import shutil
import subprocess
from pathlib import Path

NAME, UID, GID = "bpfflame-caller", 61234, 61235
OTHER_GROUP = 61236


class Caller:
    """A process of the user; folders of theirs."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.home = self.folder / "home"
        self.home.mkdir()
        os.chown(self.home, UID, GID)
        self._file("passwd", f"{NAME}:*:{UID}:{GID}:caller:{self.home}:/bin/dash\n")
        self._file("group", f"{NAME}:x:{GID}:\nbpfflame-other:x:{OTHER_GROUP}:{NAME}\n")
        # The complete sudoers file: this machine's rules do not apply.
        self._file("sudoers", "Defaults env_reset\nroot ALL=(ALL:ALL) ALL\n"
                   f"{NAME} ALL=(ALL:ALL) NOPASSWD: ALL\n", old=False)
        (self.folder / "sudoers").chmod(0o440)
        # The folders above must let the user pass.
        for path in [self.folder, *self.folder.parents]:
            if str(path).startswith("/tmp/"):
                path.chmod(path.stat().st_mode | 0o011)

    def _file(self, name, text, old=True):
        before = Path("/etc", name).read_text() if old else ""
        (self.folder / name).write_text(before + text)

    def command(self, *command):
        """The words that run @command as the user."""
        script = "".join(f'mount --bind "{self.folder}/{name}" /etc/{name} && '
                         for name in ("passwd", "group", "sudoers"))
        script += f"exec setpriv --reuid {UID} --regid {GID} --init-groups \"$@\""
        return ["unshare", "--mount", "sh", "-c", script, "sh", *map(str, command)]

    def run(self, *command, timeout=120, env=None, **options):
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home),
                       "USER": NAME, "LOGNAME": NAME, "SHELL": "/bin/dash", "LANG": "C.UTF-8",
                       **(env or {})}
        options.setdefault("cwd", self.home)
        return subprocess.run(self.command(*command), env=environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False,
                              **options)

    def program(self, path):
        """A copy of a program that the user can reach."""
        copy = self.folder / "bin" / Path(path).name
        copy.parent.mkdir(exist_ok=True)
        if not copy.exists():
            shutil.copy(path, copy)
            copy.chmod(0o755)
        return copy

    def give(self, path):
        """Gives @path and everything below it to the user."""
        for folder, _, names in os.walk(path):
            for name in [folder, *(os.path.join(folder, name) for name in names)]:
                os.lchown(name, UID, GID)


def missing():
    """Why this machine can't have such a user, or None."""
    for program in ("sudo", "setpriv", "unshare"):
        if not shutil.which(program):
            return f"needs {program}"
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        return "needs mount namespaces"
    return None
