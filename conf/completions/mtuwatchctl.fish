# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for mtuwatchctl; the names of peers and links come from the daemon.

# The first member of each tuple of a list. Does not start the daemon.
function __mtuwatchctl_names
    busctl --auto-start=no --timeout=2 call org.mtuwatch1 /org/mtuwatch1 org.mtuwatch1.Manager \
        $argv[1] 2>/dev/null | string match -arg '"([^"]*)"(?: [0-9]+)? "/org/mtuwatch1/'
end

set -l verbs list status check probe links explain measure wait monitor release reload

complete -c mtuwatchctl -f
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a list -d 'All peers, and what is wrong'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a status -d 'The whole in short, or all that is known of some'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a check -d 'Measure now, and tell'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a probe -d 'Measure the path to any address, once'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a links -d 'The links of this host'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a explain -d 'What was seen, what it means, and what to do'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a measure -d 'What an MTU is worth here, by iperf3'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a wait -d 'Return once every path is consistent'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a monitor -d 'Tell changes as they come'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a release -d 'Undo a clamp, or all'
complete -c mtuwatchctl -n "not __fish_seen_subcommand_from $verbs" -a reload -d 'Read the configuration again'

complete -c mtuwatchctl -n '__fish_seen_subcommand_from status check explain measure wait release' -a '(__mtuwatchctl_names ListPeers)' -d Peer
complete -c mtuwatchctl -n '__fish_seen_subcommand_from status release' -a '(__mtuwatchctl_names ListLinks)' -d Link
complete -c mtuwatchctl -n '__fish_seen_subcommand_from probe' -a '(__fish_print_hostnames)' -d Host

complete -c mtuwatchctl -l json -x -a 'off short pretty' -d 'Print JSON'
complete -c mtuwatchctl -l no-legend -d 'No titles, no sentences'
complete -c mtuwatchctl -l no-pager -d 'Do not page'
complete -c mtuwatchctl -l no-ask-password -d 'Do not ask for a password'
complete -c mtuwatchctl -s H -l host -x -a '(__fish_print_hostnames)' -d 'Ask the daemon of that host'
complete -c mtuwatchctl -s h -l help -d 'Print a short help'
complete -c mtuwatchctl -l version -d 'Print the version'
complete -c mtuwatchctl -n '__fish_seen_subcommand_from check' -l nagios -d 'One line, as monitoring plugins print it'
complete -c mtuwatchctl -n '__fish_seen_subcommand_from wait' -l timeout -x -d 'No longer than this'
complete -c mtuwatchctl -n '__fish_seen_subcommand_from probe' -l interface -x -a '(__mtuwatchctl_names ListLinks)' -d 'By this link'
complete -c mtuwatchctl -n '__fish_seen_subcommand_from probe' -l expect -x -d 'The size to expect'
complete -c mtuwatchctl -n '__fish_seen_subcommand_from probe' -l method -x -a 'auto icmp tcp udp responder' -d How
complete -c mtuwatchctl -n '__fish_seen_subcommand_from probe measure' -l port -x -d Port
complete -c mtuwatchctl -n '__fish_seen_subcommand_from probe' -l flows -x -d 'Source ports to spread over'
complete -c mtuwatchctl -n '__fish_seen_subcommand_from measure' -l sizes -x -d 'MTUs, as in 1500,9000'
complete -c mtuwatchctl -n '__fish_seen_subcommand_from measure' -l time -x -d 'How long a run takes'
complete -c mtuwatchctl -n '__fish_seen_subcommand_from measure' -l runs -x -d 'How often each size is tried'
