# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for mtuwatchd.

complete -c mtuwatchd -f
complete -c mtuwatchd -l config -r -F -d 'Read this file alone'
complete -c mtuwatchd -l test-config -d 'Check the configuration and print what is in effect'
complete -c mtuwatchd -l once -d 'Check everything, or these addresses, print it and exit'
complete -c mtuwatchd -l release -d 'Take off every clamp, and exit'
complete -c mtuwatchd -l version -d 'Print the version'
complete -c mtuwatchd -s h -l help -d 'Print a short help'
complete -c mtuwatchd -n '__fish_contains_opt once' -a '(__fish_print_hostnames)' -d Host
complete -c mtuwatchd -n '__fish_contains_opt once' -l json -x -a 'off short pretty' -d 'Print JSON'
complete -c mtuwatchd -n '__fish_contains_opt once' -l interface -x -a '(__fish_print_interfaces)' -d 'By this link'
complete -c mtuwatchd -n '__fish_contains_opt once' -l expect -x -d 'The size to expect'
complete -c mtuwatchd -n '__fish_contains_opt once' -l method -x -a 'auto icmp tcp udp responder' -d How
complete -c mtuwatchd -n '__fish_contains_opt once' -l port -x -d Port
complete -c mtuwatchd -n '__fish_contains_opt once' -l flows -x -d 'Source ports to spread over'
