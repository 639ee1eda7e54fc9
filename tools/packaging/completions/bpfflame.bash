# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completes the command line of bpfflame in bash. The program itself lists its options.
# shellcheck disable=SC2207

_bpfflame() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} command='' i
	local commands='record render report diff daemon query baseline events doctor help'

	for ((i = 1; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] && return # COMMAND's own words
	done
	case " $commands " in *" ${COMP_WORDS[1]} "*) [ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]} ;; esac
	[ "$command" = record ] && command=
	if [ "$command" = help ] || { [ "$COMP_CWORD" = 1 ] && [ "${word#-}" = "$word" ]; }; then
		COMPREPLY=($(compgen -W "$commands" -- "$word"))
	elif [ "$command" = baseline ] && [ "$COMP_CWORD" = 2 ] && [ "${word#-}" = "$word" ]; then
		COMPREPLY=($(compgen -W 'save list show compare remove' -- "$word"))
	elif [ "${word#-}" != "$word" ]; then
		# shellcheck disable=SC2086
		COMPREPLY=($(compgen -W "$("$program" $command --list-options 2>/dev/null | cut -f 1)" -- "$word"))
		case ${COMPREPLY[0]} in *=) compopt -o nospace ;; esac
	elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = -p ] || [ "${COMP_WORDS[COMP_CWORD - 1]}" = --pid ]; then
		COMPREPLY=($(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word"))
	fi
}

complete -o default -F _bpfflame bpfflame
