# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion for mtuwatchctl; the names of peers and links come from the daemon.

# The first member of each tuple of a list. Does not start the daemon.
__mtuwatchctl_names()
{
    busctl --auto-start=no --timeout=2 call org.mtuwatch1 /org/mtuwatch1 org.mtuwatch1.Manager \
        "$1" 2>/dev/null | grep -oE '"[^"]*"( [0-9]+)? "/org/mtuwatch1/' | cut -d'"' -f2
}

_mtuwatchctl()
{
    # shellcheck disable=SC2034 # set by _init_completion -s
    local cur prev words cword split verb='' word i
    local verbs='list status check probe links explain measure wait monitor release reload'
    local options='--json= --no-legend --no-pager --no-ask-password --host= --help --version'

    _init_completion -s || return
    for ((i = 1; i < cword; i++)); do
        word=${words[i]}
        case $word in
        -H | --host) ((i++)) ;;
        -*) ;;
        *)
            verb=$word
            break
            ;;
        esac
    done
    case $prev in
    --json)
        mapfile -t COMPREPLY < <(compgen -W 'off short pretty' -- "$cur")
        return
        ;;
    --method)
        mapfile -t COMPREPLY < <(compgen -W 'auto icmp tcp udp responder' -- "$cur")
        return
        ;;
    --interface)
        mapfile -t COMPREPLY < <(compgen -W "$(__mtuwatchctl_names ListLinks)" -- "$cur")
        return
        ;;
    -H | --host)
        _known_hosts_real -- "$cur"
        return
        ;;
    --expect | --port | --flows | --timeout | --sizes | --time | --runs)
        return
        ;;
    esac
    if [[ $cur == -* ]]; then
        case $verb in
        check) options+=' --nagios' ;;
        probe) options+=' --interface= --expect= --method= --port= --flows=' ;;
        measure) options+=' --sizes= --time= --runs= --port=' ;;
        wait) options+=' --timeout=' ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
        return
    fi
    case $verb in
    '') mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur") ;;
    status | release)
        mapfile -t COMPREPLY < <(compgen -W "$(__mtuwatchctl_names ListPeers) \
            $(__mtuwatchctl_names ListLinks)" -- "$cur")
        ;;
    check | explain | measure | wait)
        mapfile -t COMPREPLY < <(compgen -W "$(__mtuwatchctl_names ListPeers)" -- "$cur")
        ;;
    probe) _known_hosts_real -- "$cur" ;;
    esac
} && complete -F _mtuwatchctl mtuwatchctl
