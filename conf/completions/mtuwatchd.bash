# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion for mtuwatchd.

_mtuwatchd()
{
    # shellcheck disable=SC2034 # set by _init_completion -s
    local cur prev words cword split once
    local options='--config --test-config --once --release --version --help'

    _init_completion -s || return
    [[ " ${words[*]:1:cword-1} " == *' --once '* ]] && once=yes
    case $prev in
    --config) _filedir conf ;;
    --json) mapfile -t COMPREPLY < <(compgen -W 'off short pretty' -- "$cur") ;;
    --method) mapfile -t COMPREPLY < <(compgen -W 'auto icmp tcp udp responder' -- "$cur") ;;
    --interface) _available_interfaces ;;
    --expect | --port | --flows) ;;
    *)
        if [[ $cur == -* ]]; then
            [[ ${once-} ]] && options='--config --json= --interface --expect --method --port --flows'
            mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
            [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
        elif [[ ${once-} ]]; then
            _known_hosts_real -- "$cur"
        fi
        ;;
    esac
} && complete -F _mtuwatchd mtuwatchd
