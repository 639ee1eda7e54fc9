# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completes the command line of bpfflame in fish. The program itself lists its options.

set -g __bpfflame_commands record render report diff daemon query baseline events doctor help

function __bpfflame_options
    set -l words (commandline -opc)
    set -l command
    if test (count $words) -gt 1; and contains -- $words[2] $__bpfflame_commands; and test $words[2] != record
        set command $words[2]
    end
    $words[1] $command --list-options 2>/dev/null | string replace -r '=\t' '\t'
end

function __bpfflame_is_first
    test (count (commandline -opc)) -eq 1
end

complete -c bpfflame -n __bpfflame_is_first -a "$__bpfflame_commands"
complete -c bpfflame -n 'test (count (commandline -opc)) -eq 2; and contains -- baseline (commandline -opc)' \
    -x -a 'save list show compare remove'
complete -c bpfflame -n 'string match -q -- "-*" (commandline -ct)' -a '(__bpfflame_options)'
complete -c bpfflame -s p -l pid -x -a '(__fish_complete_pids)'
