#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Floor and prober side by side, in turns, over one veth between two namespaces of this script's
# own: 1000 addresses by default. usage: bench-prober.sh BUILD-DIR [COUNT [SIZE [TURNS]]]
set -eu
build=$(cd "$1/tests/bench" && pwd) count=${2:-1000} size=${3:-9000} turns=${4:-5}
here=mtu-bench-a-$$ there=mtu-bench-b-$$
trap 'ip netns del $here 2>/dev/null || :; ip netns del $there 2>/dev/null || :' EXIT
ip netns add "$here"
ip netns add "$there"
ip -n "$here" link add a0 mtu 9000 type veth peer name b0 mtu 9000 netns "$there"
ip -n "$here" address add 192.0.2.1/24 dev a0
ip -n "$there" address add 192.0.2.2/24 dev b0
ip -n "$here" link set a0 up
ip -n "$there" link set b0 up
ip -n "$there" link set lo up
ip -n "$there" route add local 10.99.0.0/16 dev lo
ip -n "$here" route add 10.99.0.0/16 via 192.0.2.2
ip netns exec "$here" ping -qc1 -W5 10.99.0.1 >/dev/null
for _ in $(seq "$turns"); do
	ip netns exec "$here" "$build/limit" 10.99.0.1 "$count" "$size"
	ip netns exec "$here" "$build/bench-prober" 10.99.0.1 "$count" "$size"
done
