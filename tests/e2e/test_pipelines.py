# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/ci: a team's pipeline from end to end, on projects in C and in Rust.

Takes the steps of the GitHub action and of the GitLab job from their YAML and runs them in the
environment that these services provide, with a local server that keeps comments as theirs do."""
import contextlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from harness import BPFFLAME, ROOT, Folded, assert_well_formed

yaml = pytest.importorskip("yaml", reason="needs python3-yaml")
PACKAGING = ROOT / "tools" / "ci"
ACTION = PACKAGING / "github" / "action.yml"
COMMENT = PACKAGING / "github" / "comment" / "action.yml"
EXAMPLE = PACKAGING / "github" / "example.yml"
GITLAB = PACKAGING / "gitlab" / "bpfflame.gitlab-ci.yml"
SAMPLES = ROOT / "tests" / "workload" / "ci-sample"
SOURCES = {"c": "bench.c", "rust": "src/main.rs"}
TOOLS = {"c": "cc", "rust": "cargo"}
RUNS = "4"
MARKER = "<!-- bpfflame:bench -->"


# --- projects -------------------------------------------------------------------------------


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True,
                          env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}).stdout.strip()


def commit(folder, message):
    git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-a", "-m", message)


def set_rounds(folder, language, rounds):
    """Plants a regression: hash_record() does this much work; 100 at first."""
    path = folder / SOURCES[language]
    text, n = re.subn(r"(HASH_ROUNDS(?:: u64 =)?) \d+", rf"\1 {rounds}", path.read_text(), count=1)
    assert n == 1
    path.write_text(text)


def make_project(folder, language):
    """A repository with three branches: main, an identical one, and one with a function four times
    as slow."""
    if not shutil.which(TOOLS[language]):
        pytest.skip(f"needs {TOOLS[language]}")
    shutil.copytree(SAMPLES / language, folder)
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("sample\ntarget\nCargo.lock\n.bpfflame\nbpfflame-results\n")
    git(folder, "add", ".")
    commit(folder, "first")
    git(folder, "checkout", "-q", "-b", "same")
    (folder / "notes.txt").write_text("nothing that matters\n")
    git(folder, "add", ".")
    commit(folder, "same")
    git(folder, "checkout", "-q", "-b", "slow", "main")
    set_rounds(folder, language, 400)
    commit(folder, "slow")
    git(folder, "checkout", "-q", "main")
    return folder


FOREIGN = re.compile(r"(GITHUB|CI|GITLAB|BPFFLAME|RUNNER)(_|$)")


def environment(**more):
    """Our environment without variables of the pipeline that runs these tests."""
    clean = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)}
    return {**clean, "BPFFLAME": str(BPFFLAME), "BPFFLAME_RUNS": RUNS, "BPFFLAME_PREPARE": "make", **more}


def ci_profile(folder, *arguments, code=0, **more):
    """The script, with `make bench` as its command."""
    result = subprocess.run([PACKAGING / "ci-profile", *arguments, "--", "make", "-s", "bench"], cwd=folder,
                            capture_output=True, text=True, timeout=300, env=environment(**more), check=False)
    assert result.returncode == code, result
    return result


def results(folder):
    return folder / "bpfflame-results"


def outcome(folder):
    return (results(folder) / "result").read_text().strip()


def junit(folder):
    """(tests, failures, skipped, text of the failures)."""
    root = ElementTree.parse(results(folder) / "junit.xml").getroot()
    suites = [root] if root.tag == "testsuite" else root.findall("testsuite")
    count = [sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "skipped")]
    texts = [(node.get("message") or "") + (node.text or "") for node in root.iter("failure")]
    names = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    return (*count, " ".join(texts + names))


@pytest.fixture(scope="module", params=["c", "rust"])
def project(request, tmp_path_factory):
    """A project whose main branch has a baseline."""
    folder = make_project(tmp_path_factory.mktemp("ci") / "project", request.param)
    result = ci_profile(folder)
    assert outcome(folder) == "first" and "baseline" in result.stdout
    return folder


# --- the script -----------------------------------------------------------------------------


def test_the_default_branch_becomes_the_baseline(project):
    git(project, "checkout", "-q", "main")
    folder = results(project)
    names = {path.name for path in folder.iterdir()}
    assert names >= {"profile.svg", "profile.html", "profile.pb.gz", "comment.md", "junit.xml", "result",
                     "run-1.pb.gz", "run-1.folded", f"run-{RUNS}.pb.gz"}
    assert_well_formed(folder / "profile.svg")
    for function in ("hash_record", "parse_record", "sort_records"):
        assert function in (folder / "profile.svg").read_text()
        assert any(function in frame for frame in Folded(folder / "run-1.folded").names())
    assert (folder / "comment.md").read_text().startswith(MARKER + "\n")
    saved = subprocess.run([BPFFLAME, "baseline", "list", "--dir", ".bpfflame/baselines"], cwd=project,
                           capture_output=True, text=True, check=True).stdout
    assert "bench" in saved and git(project, "rev-parse", "main")[:7] in saved


def test_the_same_code_passes(project):
    git(project, "checkout", "-q", "same")
    result = ci_profile(project)
    assert outcome(project) == "passed", result
    assert "the gate passed" in (results(project) / "comment.md").read_text()
    tests, failures, _, _ = junit(project)
    assert tests > 0 and failures == 0
    assert_well_formed(results(project) / "diff.svg")


def test_a_slow_function_is_stopped_and_named(project):
    git(project, "checkout", "-q", "slow")
    result = ci_profile(project, code=3)
    assert outcome(project) == "failed"
    assert "hash_record" in result.stderr and "parse_record" not in result.stderr
    comment = (results(project) / "comment.md").read_text()
    assert "a function grew too much" in comment and "hash_record" in comment
    _, failures, _, text = junit(project)
    assert failures >= 1 and "hash_record" in text
    # Its recording is not a baseline.
    saved = subprocess.run([BPFFLAME, "baseline", "list", "--dir", ".bpfflame/baselines"], cwd=project,
                           capture_output=True, text=True, check=True).stdout
    assert git(project, "rev-parse", "slow")[:7] not in saved


def test_in_turns_with_another_commit(project):
    """--against: no baseline is kept, both sides are built and recorded now."""
    git(project, "checkout", "-q", "slow")
    shutil.move(project / ".bpfflame", project / "kept")
    try:
        result = ci_profile(project, "--against", "main", code=3)
        assert "hash_record" in result.stderr
        assert (results(project) / f"base-{RUNS}.pb.gz").exists()
        assert not (project / ".bpfflame").exists()
        assert len(git(project, "worktree", "list").splitlines()) == 1
    finally:
        shutil.move(project / "kept", project / ".bpfflame")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """For tests that don't depend on the language: a project whose benchmark takes no time."""
    folder = make_project(tmp_path_factory.mktemp("ci") / "project", "c")
    makefile = folder / "Makefile"
    makefile.write_text(makefile.read_text().replace("./sample", "./sample $(ROUNDS)"))
    commit(folder, "small")
    for branch in ("same", "slow"):
        git(folder, "branch", "-q", "-f", branch, "main")
    return folder


def test_no_baseline_yet_passes_and_says_so(small):
    git(small, "checkout", "-q", "same")
    result = ci_profile(small, "--runs", "1", ROUNDS="40")
    assert outcome(small) == "first" and "no baseline yet" in result.stdout
    assert "no baseline yet" in (results(small) / "comment.md").read_text()
    assert junit(small)[:3] == (1, 0, 1)


def test_a_command_that_fails_fails_the_job(small):
    result = subprocess.run([PACKAGING / "ci-profile", "--runs", "2", "--", "sh", "-c", "exit 7"], cwd=small,
                            capture_output=True, text=True, timeout=60, env=environment(), check=False)
    assert result.returncode == 1 and "status 7" in result.stderr
    assert not (results(small) / "result").exists()


def test_waits_have_no_rate(small):
    result = subprocess.run([PACKAGING / "ci-profile", "--runs", "1", "--options", "--offcpu", "--", "sleep", "0.1"], cwd=small,
                            capture_output=True, text=True, timeout=60, env=environment(), check=False)
    assert result.returncode == 0 and "off-CPU" in result.stderr and "-F changes nothing" not in result.stderr, result


@pytest.mark.parametrize("arguments, says", [
    (["--runs", "0", "true"], "--runs"), (["--runs", "x", "true"], "--runs"), (["--no-such", "1"], "no option --no-such"),
    (["--no-such"], "no option --no-such"), ([], "no command"), (["--name"], "--name wants a value")])
def test_wrong_usage(small, arguments, says):
    result = subprocess.run([PACKAGING / "ci-profile", *arguments], cwd=small, capture_output=True, text=True,
                            timeout=60, env=environment(), check=False)
    assert result.returncode == 2 and "usage: ci-profile" in result.stderr, result
    assert says in result.stderr.splitlines()[0], result


def as_nobody(folder, *command, **more):
    """Without rights, in a folder of its own, and without sudo."""
    return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all",
                           "--bounding-set=-all", "--no-new-privs", *map(str, command)], cwd=folder,
                          capture_output=True, text=True, timeout=60, env=environment(HOME="/", **more),
                          check=False)


def test_without_rights(tmp_path_factory):
    """Names the missing rights and fails; if recording is optional, only runs the command."""
    folder = Path(subprocess.run(["mktemp", "-d", "/tmp/bpfflame-test-XXXXXX"], check=True, capture_output=True,
                                 text=True).stdout.strip())
    try:
        folder.chmod(0o777)
        copy = shutil.copy(BPFFLAME, folder)
        shutil.copytree(PACKAGING, folder / "packaging")
        command = [folder / "packaging" / "ci-profile", "--prepare", "touch prepared", "--", "touch", "done"]
        result = as_nobody(folder, *command, BPFFLAME=copy)
        assert result.returncode == 1, result
        assert "CAP_BPF and CAP_PERFMON are missing" in result.stderr, result
        assert not (folder / "done").exists()
        result = as_nobody(folder, *command, BPFFLAME=copy, BPFFLAME_OPTIONAL="yes")
        assert result.returncode == 0 and "not profiled" in result.stderr, result
        assert (folder / "done").exists() and (folder / "prepared").exists()
    finally:
        shutil.rmtree(folder)


def test_tokens_are_not_the_commands(small):
    ci_profile_script = PACKAGING / "ci-profile"
    names = ["BPFFLAME_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"]
    subprocess.run([ci_profile_script, "--runs", "1", "--out-dir", "tokens", "--", "sh", "-c", "env >seen"],
                   cwd=small, check=True, capture_output=True, timeout=60,
                   env=environment(**{name: "secret" for name in names}))
    assert "secret" not in (small / "seen").read_text()


# --- the comment ----------------------------------------------------------------------------


class Service:
    """Comments on one request, stored as GitHub or GitLab store them."""

    def __init__(self, path, token, one):
        self.path, self.token, self.one = path, token, one
        self.comments, self.requests, self.refuse = [], [], None

    @contextlib.contextmanager
    def serve(self):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, code, body):
                data = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_any(self):
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                path, _, query = self.path.partition("?")
                service.requests.append((self.command, path))
                header, value = service.token
                if self.headers.get(header) != value:
                    return self.answer(401, {"message": "Bad credentials"})
                if service.refuse and self.command != "GET":
                    return self.answer(service.refuse, {"message": "Resource not accessible"})
                if self.command == "GET" and path == service.path:
                    fields = dict(pair.split("=") for pair in query.split("&"))
                    size, page = int(fields["per_page"]), int(fields["page"])
                    return self.answer(200, service.comments[size * (page - 1):size * page])
                if self.command == "POST" and path == service.path:
                    service.add(body["body"])
                    return self.answer(201, service.comments[-1])
                for comment in service.comments:
                    if self.command in ("PATCH", "PUT") and path == f"{service.one}/{comment['id']}":
                        comment["body"] = body["body"]
                        return self.answer(200, comment)
                return self.answer(404, {"message": "Not Found"})

            do_GET = do_POST = do_PATCH = do_PUT = do_any

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()

    def add(self, body, **more):
        self.comments.append({"id": 1000 + len(self.comments), "user": {"id": 7, "login": "a\"]}{b"},
                              "body": body, "reactions": {"id": 5, "body": MARKER}, **more})


def github():
    return Service("/repos/o/r/issues/12/comments", ("Authorization", "Bearer secret"),
                   "/repos/o/r/issues/comments")


def gitlab():
    path = "/projects/34/merge_requests/12/notes"
    return Service(path, ("PRIVATE-TOKEN", "secret"), path)


def service_variables(service, url):
    if service.token[0] == "Authorization":
        return {"GITHUB_API_URL": url, "GITHUB_REPOSITORY": "o/r", "GITHUB_REF": "refs/pull/12/merge"}
    return {"CI_API_V4_URL": url, "CI_PROJECT_ID": "34", "CI_MERGE_REQUEST_IID": "12"}


def ci_comment(folder, **more):
    """With programs first in PATH that want the token."""
    planted, taken = folder / "planted", folder / "taken"
    planted.mkdir(exist_ok=True)
    for name in "curl", "awk", "sed", "cat", "head", "mktemp", "printf":
        (planted / name).write_text(f"#!/bin/sh\necho $0 $* >>{taken}\n")
        (planted / name).chmod(0o755)
    variables = {**environment(), **more, "PATH": f"{planted}:{os.environ['PATH']}"}
    result = subprocess.run([PACKAGING / "ci-comment", folder / "comment.md"], capture_output=True, text=True,
                            timeout=120, env=variables, check=False)
    assert result.returncode == 0, result
    assert not taken.exists(), taken.read_text()
    assert "secret" not in result.stdout + result.stderr
    return result.stdout


AWKWARD = MARKER + "\n### \"quotes\" \\back\\slash\t<code>a&amp;b</code> | ✅ 100 %\n" + "$(id) `id` ${HOME} %s\n"


@pytest.mark.parametrize("make", [github, gitlab])
def test_one_comment_that_is_renewed(tmp_path, make):
    service = make()
    for i in range(130):
        service.add(f"an earlier comment {i}, with {MARKER} in its midst \\\" }} ]")
    with service.serve() as url:
        variables = {**service_variables(service, url), "BPFFLAME_TOKEN": "secret"}
        (tmp_path / "comment.md").write_text(AWKWARD)
        assert "posted" in ci_comment(tmp_path, **variables)
        assert service.comments[-1]["body"] == AWKWARD and len(service.comments) == 131
        service.add("a later one")
        (tmp_path / "comment.md").write_text(AWKWARD + "renewed\n")
        assert "1130 was renewed" in ci_comment(tmp_path, **variables)
        assert service.comments[130]["body"] == AWKWARD + "renewed\n" and len(service.comments) == 132
        (tmp_path / "comment.md").write_text(AWKWARD.replace("bench", "other"))
        assert "posted" in ci_comment(tmp_path, **variables)


def test_a_comment_mentions_nobody_and_commands_nothing(tmp_path):
    """Whatever the job, and so the branch, wrote into it."""
    service = github()
    with service.serve() as url:
        (tmp_path / "comment.md").write_text(MARKER + """
### x @someone &#64;another &#x40;third <img src=x> <code>a&lt;b</code>
  /merge
> /close
![x](https://example.org/x.png)
a/b <sub>5 runs</sub></details><script>
""")
        ci_comment(tmp_path, **service_variables(service, url), BPFFLAME_TOKEN="secret")
    marker, *lines = service.comments[0]["body"].splitlines()
    assert marker == MARKER
    assert lines == ["### x @\u200bsomeone &#64;\u200banother &#x40;\u200bthird &lt;img src=x> <code>a&lt;b</code>",
                     "  \u200b/merge", "> \u200b/close", "!\u200b[x](https://example.org/x.png)",
                     "a/b <sub>5 runs</sub></details>&lt;script>"]


@pytest.mark.parametrize("make", [github, gitlab])
def test_what_cannot_be_posted_fails_nothing(tmp_path, make):
    service = make()
    (tmp_path / "comment.md").write_text(AWKWARD)
    with service.serve() as url:
        variables = service_variables(service, url)
        assert "no token" in ci_comment(tmp_path, **variables)
        assert "401" in ci_comment(tmp_path, **variables, BPFFLAME_TOKEN="wrong")
        assert "not of a pull or merge request" in ci_comment(
            tmp_path, **{**variables, "GITHUB_REF": "refs/heads/main", "CI_MERGE_REQUEST_IID": ""},
            BPFFLAME_TOKEN="secret")
        service.refuse = 403
        assert "may not write comments" in ci_comment(tmp_path, **variables, BPFFLAME_TOKEN="secret")
        assert service.comments == []
    assert "could not be read" in ci_comment(tmp_path, **variables, BPFFLAME_TOKEN="secret")
    assert "neither" in ci_comment(tmp_path, BPFFLAME_TOKEN="secret")
    (tmp_path / "comment.md").unlink()
    assert "there is no" in ci_comment(tmp_path, **variables)


def test_a_long_comment_is_cut(tmp_path):
    service = github()
    (tmp_path / "comment.md").write_text(MARKER + "\n" + "| a row with an é |\n" * 10000)
    with service.serve() as url:
        ci_comment(tmp_path, **service_variables(service, url), BPFFLAME_TOKEN="secret")
    body = service.comments[0]["body"]
    assert 50000 < len(body) < 65536 and body.endswith("artifacts\n") and "| a row with an é |\n\n" in body


# --- GitHub ---------------------------------------------------------------------------------


def expressions(text):
    return re.findall(r"\$\{\{\s*(.*?)\s*\}\}", text)


def evaluate(text, context):
    """Evaluates a template with the few kinds of expressions that the action uses."""
    return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda match: str(context.get(match[1], "")), str(text))


def condition(text, context, failed):
    """Whether a step runs: `always()`, and comparisons of a value with a text, joined by &&."""
    terms = [term.strip() for term in text.split("&&")]
    for term in terms:
        if term == "always()":
            continue
        left, operator, right = re.fullmatch(r"(\S+) (==|!=) '(.*)'", term).groups()
        if (str(context.get(left, "")) == right) != (operator == "=="):
            return False
    return not failed or "always()" in terms


class Job:
    """Runs the composite action's own steps as a runner does; returns the other actions that it
    used."""

    def __init__(self, folder, inputs, github_context, variables, action=None):
        self.path = action or ACTION
        self.action = yaml.safe_load(self.path.read_text())
        self.folder, self.variables, self.used, self.failed, self.log = folder, variables, [], False, ""
        defaults = {name: value.get("default", "") for name, value in self.action["inputs"].items()}
        assert inputs.keys() <= defaults.keys()
        self.context = {"runner.os": "Linux", "runner.arch": "X64", "github.run_id": "77",
                        "github.run_attempt": "1", "github.token": "secret", **github_context}
        self.context |= {f"inputs.{name}": evaluate(value, self.context)
                         for name, value in {**defaults, **inputs}.items()}

    def run(self):
        for step in self.action["runs"]["steps"]:
            if not condition(step.get("if", "always()" if False else ""), self.context, self.failed) \
                    if step.get("if") else self.failed:
                continue
            if "uses" in step:
                self.used.append((step["uses"].partition("@")[0],
                                  {key: evaluate(value, self.context) for key, value in step["with"].items()}))
            else:
                self.run_step(step)
        return self

    def run_step(self, step):
        output = self.folder.parent / "output"
        output.write_text("")
        env = {**self.variables, "GITHUB_OUTPUT": str(output), "GITHUB_ACTION_PATH": str(self.path.parent),
               **{key: evaluate(value, self.context) for key, value in step.get("env", {}).items()}}
        assert step["shell"] == "sh" and not expressions(step["run"]), "an expression in a script"
        cwd = self.folder / evaluate(step.get("working-directory", "."), self.context)
        result = subprocess.run(["sh", "-e", "-c", step["run"]], cwd=cwd, env=env, capture_output=True,
                                text=True, timeout=300, check=False)
        self.log += result.stdout + result.stderr
        self.failed |= result.returncode != 0
        for line in output.read_text().splitlines():
            key, _, value = line.partition("=")
            self.context[f"steps.{step.get('id')}.outputs.{key}"] = value

    def outputs(self):
        return {name: evaluate(value["value"], self.context)
                for name, value in self.action.get("outputs", {}).items()}


def github_job(project, branch, url, **inputs):
    """The action in a workflow of @branch: a push if that is main, else a pull request."""
    git(project, "checkout", "-q", branch)
    pull = branch != "main"
    event = project.parent / "event.json"
    event.write_text(json.dumps({"repository": {"default_branch": "main"},
                                 **({"pull_request": {"number": 12}} if pull else {})}))
    summary = project.parent / "summary.md"
    summary.write_text("")
    clean = environment()
    for name in ("BPFFLAME", "BPFFLAME_RUNS", "BPFFLAME_PREPARE"):
        del clean[name]
    variables = {**clean, "GITHUB_ACTIONS": "true", "CI": "true",
                 "GITHUB_API_URL": url, "GITHUB_REPOSITORY": "o/r", "GITHUB_SERVER_URL": "https://example.org",
                 "GITHUB_RUN_ID": "77", "GITHUB_SHA": git(project, "rev-parse", "HEAD"),
                 "GITHUB_REF": "refs/pull/12/merge" if pull else "refs/heads/main",
                 "GITHUB_HEAD_REF": branch if pull else "", "GITHUB_EVENT_PATH": str(event),
                 "GITHUB_EVENT_NAME": "pull_request" if pull else "push", "GITHUB_STEP_SUMMARY": str(summary)}
    context = {"github.event.repository.default_branch": "main",
               **({"github.event.pull_request.number": 12} if pull else {})}
    job = Job(project, {"run": "make -s bench", "prepare": "make", "runs": RUNS, "bpfflame": str(BPFFLAME), **inputs},
              context, variables).run()
    if pull:
        comment = Job(project, {}, context, variables, COMMENT).run()
        assert [name for name, _ in comment.used] == ["actions/download-artifact"]
        assert comment.used[0][1] == {"name": job.used[-1][1]["name"], "path": "bpfflame-results"}
        assert not comment.failed, comment.log
        job.comment_log = comment.log
    return job, summary.read_text()


def test_the_action_from_end_to_end(tmp_path):
    project = make_project(tmp_path / "project", "c")
    service = github()
    with service.serve() as url:
        job, summary = github_job(project, "main", url)
        assert not job.failed and job.outputs()["result"] == "first", job.log
        used = [name for name, _ in job.used]
        assert used == ["actions/cache/restore", "actions/cache/save", "actions/upload-artifact"]
        restored, saved = job.used[0][1], job.used[1][1]
        assert saved["path"] == restored["path"] == "./.bpfflame/baselines"
        assert saved["key"].startswith(restored["restore-keys"]) and not expressions(saved["key"])
        assert "first baseline" in summary and service.comments == []

        job, summary = github_job(project, "same", url)
        assert not job.failed and job.outputs()["result"] == "passed", job.log
        assert "actions/cache/save" not in [name for name, _ in job.used]
        assert len(service.comments) == 1 and service.comments[0]["body"].replace("\u200b", "") == summary

        job, summary = github_job(project, "slow", url)
        assert job.failed and job.outputs()["result"] == "failed", job.log
        assert job.used[-1][0] == "actions/upload-artifact"
        assert (project / job.used[-1][1]["path"] / "diff.svg").exists()
        assert len(service.comments) == 1 and "hash_record" in service.comments[0]["body"]
        assert service.comments[0]["body"].replace("\u200b", "") == summary
        assert "https://example.org/o/r/actions/runs/77" in summary
        assert re.search(r"^::error title=bpfflame::.*hash_record", job.log, re.MULTILINE)

        # A pipeline of a fork: its token is read-only.
        service.refuse = 403
        job, _ = github_job(project, "slow", url, **{"fail-over": "none", "runs": "1"})
        assert not job.failed and "may not write comments" in job.comment_log


def test_caches_hold_no_programs():
    """The default branch would run programs that other branches can write."""
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    paths = [step["with"]["path"] for step in steps if "actions/cache" in step.get("uses", "")]
    paths += [path for cache in yaml.safe_load(GITLAB.read_text())[".bpfflame"]["cache"] for path in cache["paths"]]
    assert paths and all(path.endswith(".bpfflame/baselines") for path in paths), paths


def test_the_recording_has_no_token():
    assert "token" not in yaml.safe_load(ACTION.read_text())["inputs"]
    assert "github.token" not in ACTION.read_text()
    assert "BPFFLAME_TOKEN" not in json.dumps(yaml.safe_load(GITLAB.read_text())[".bpfflame"])
    jobs = yaml.safe_load(EXAMPLE.read_text())["jobs"]
    assert "permissions" not in jobs["profile"]
    (checkout,) = [step for step in jobs["profile"]["steps"] if "actions/checkout" in step["uses"]]
    assert checkout["with"] == {"persist-credentials": False}


@pytest.mark.parametrize("path", [ACTION, COMMENT], ids=["record", "comment"])
def test_the_action_is_well_formed(path):
    """The requirements of https://docs.github.com/actions for metadata files."""
    action = yaml.safe_load(path.read_text())
    assert action.keys() <= {"name", "author", "description", "inputs", "outputs", "runs", "branding"}
    assert action["name"] and action["description"] and action["runs"]["using"] == "composite"
    assert action["branding"].keys() == {"icon", "color"}
    for name, value in action["inputs"].items():
        assert re.fullmatch(r"[a-z_][a-z0-9_-]*", name)
        assert value.keys() <= {"description", "required", "default", "deprecationMessage"}
        assert value["description"] and isinstance(value.get("default", ""), str), name
    ids = {step["id"] for step in action["runs"]["steps"] if "id" in step}
    known = {f"inputs.{name}" for name in action["inputs"]}
    for step in action["runs"]["steps"]:
        assert step.keys() <= {"id", "if", "name", "uses", "with", "run", "shell", "env", "working-directory",
                               "continue-on-error"}
        assert ("uses" in step) != ("run" in step) and ("run" in step) == ("shell" in step)
        assert re.fullmatch(r"[\w-]+(/[\w-]+)+@[0-9a-f]{40}", step.get("uses", "a/b@" + 40 * "0"))
        assert not expressions(step.get("run", "")), "what others write must not become a script"
    for expression in expressions(path.read_text()):
        kind, name, *rest = expression.split(".")
        assert kind in ("inputs", "steps", "github", "runner"), expression
        assert kind != "inputs" or expression in known, expression
        assert kind != "steps" or (name in ids and rest[0] == "outputs"), expression
    for output in action.get("outputs", {}).values():
        assert output.keys() == {"description", "value"}


def test_the_example_is_five_lines_of_use():
    workflow = yaml.safe_load(EXAMPLE.read_text())
    assert workflow.keys() == {"name", True, "permissions", "jobs"}  # `on` is true in YAML 1.1
    assert workflow["permissions"] == {"contents": "read"}
    record, comment = workflow["jobs"]["profile"], workflow["jobs"]["comment"]
    step = record["steps"][-1]
    assert "/tools/ci/github@" in step["uses"]
    action = yaml.safe_load(ACTION.read_text())
    assert step["with"].keys() <= action["inputs"].keys()
    assert step["with"].keys() >= {name for name, value in action["inputs"].items() if value.get("required")}
    assert 1 + 1 + len(step["with"]) <= 5
    assert comment["needs"] == "profile" and comment["permissions"] == {"pull-requests": "write"}
    assert [step["uses"] for step in comment["steps"]] == ["OWNER/bpfflame/tools/ci/github/comment@v1"]


# --- GitLab ---------------------------------------------------------------------------------

GITLAB_KEYS = {"stage", "environment", "variables", "rules", "cache", "script", "before_script", "after_script", "artifacts",
               "extends", "tags", "image", "needs", "allow_failure", "timeout", "interruptible"}


def gitlab_job(project, branch, url, code=0):
    """A project's jobs that extend .bpfflame and .bpfflame-note, run as a shell executor does."""
    jobs = yaml.safe_load(GITLAB.read_text())
    git(project, "checkout", "-q", branch)
    merge = branch != "main"
    own = {"BPFFLAME_RUN": "make -s bench", "BPFFLAME_PREPARE": "make", "BPFFLAME_HOME": str(ROOT)}
    common = {**environment(), **own, "GITLAB_CI": "true", "CI": "true",
                 "CI_API_V4_URL": url, "CI_PROJECT_ID": "34", "CI_DEFAULT_BRANCH": "main",
                 "CI_COMMIT_SHA": git(project, "rev-parse", "HEAD"), "CI_JOB_URL": "https://example.org/j/1",
                 "CI_JOB_TOKEN": "job-secret",
                 **({"CI_MERGE_REQUEST_IID": "12", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": branch} if merge
                    else {"CI_COMMIT_BRANCH": "main"})}
    log, codes = "", []
    for name, more in (".bpfflame", {}), (".bpfflame-note", {"BPFFLAME_TOKEN": "secret"}):
        if name == ".bpfflame-note" and not merge:
            continue
        script = "\n".join(jobs[name]["before_script"] + jobs[name]["script"])
        result = subprocess.run(["sh", "-e", "-c", script], cwd=project, capture_output=True, text=True, timeout=300,
                                env={**common, **jobs[name]["variables"], **own, **more}, check=False)
        log += result.stdout + result.stderr
        codes.append(result.returncode)
    assert codes == [code, 0][:len(codes)], log
    return log


def test_the_gitlab_job_from_end_to_end(tmp_path):
    project = make_project(tmp_path / "project", "c")
    service = gitlab()
    with service.serve() as url:
        gitlab_job(project, "main", url)
        assert outcome(project) == "first" and service.comments == []
        gitlab_job(project, "same", url)
        assert outcome(project) == "passed" and "the gate passed" in service.comments[0]["body"]
        gitlab_job(project, "slow", url, code=3)
        assert len(service.comments) == 1 and "hash_record" in service.comments[0]["body"]
        assert "https://example.org/j/1/artifacts/browse/bpfflame-results" in service.comments[0]["body"]
        assert "hash_record" in junit(project)[3]


def test_the_gitlab_job_is_well_formed():
    text = yaml.safe_load(GITLAB.read_text())
    assert list(text) == [".bpfflame", ".bpfflame-note"]
    for job in text.values():
        assert job.keys() <= GITLAB_KEYS
        assert all(isinstance(line, str) for part in ("before_script", "script") for line in job[part])
        assert all(isinstance(value, str) for value in job["variables"].values())
        assert all("if" in rule for rule in job["rules"])
    # A variable limited to one environment is not in any other job.
    assert text[".bpfflame-note"]["environment"]["name"] and "environment" not in text[".bpfflame"]
    job = text[".bpfflame"]
    for cache in job["cache"]:
        assert cache.keys() <= {"key", "paths", "policy", "unprotect", "when", "fallback_keys"}
    assert job["cache"][0]["policy"] == "$BPFFLAME_CACHE_POLICY"
    policies = {job["variables"]["BPFFLAME_CACHE_POLICY"]} | {
        rule["variables"]["BPFFLAME_CACHE_POLICY"] for rule in job["rules"] if "variables" in rule}
    assert policies == {"pull", "pull-push"}
    artifacts = job["artifacts"]
    assert artifacts["when"] == "always" and artifacts["reports"]["junit"] == "bpfflame-results/junit.xml"


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="needs shellcheck")
def test_scripts_in_yaml_are_sound(tmp_path):
    steps = [step["run"] for action in (ACTION, COMMENT)
             for step in yaml.safe_load(action.read_text())["runs"]["steps"] if "run" in step]
    jobs = ["\n".join(job["before_script"] + job["script"]) for job in yaml.safe_load(GITLAB.read_text()).values()]
    for i, script in enumerate([*steps, *jobs]):
        path = tmp_path / f"{i}.sh"
        path.write_text("#!/bin/sh\n" + script)
        result = subprocess.run(["shellcheck", path], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout
