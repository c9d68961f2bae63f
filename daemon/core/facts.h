/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the world tells us and what we ask of it: addresses, links, routes, probes, answers.
 * Plain values without behaviour; the world rooms fill them in, the core thinks about them.
 *
 * Sizes and MTUs are bytes of a whole IP packet, header included. Times are CLOCK_MONOTONIC in
 * microseconds. Errors are negative errno values.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define USEC_PER_SEC 1000000ULL
#define USEC_PER_MSEC 1000ULL
#define USEC_NEVER UINT64_MAX

#define SIZE_LARGEST 65535U   /* RFC 791 section 3.1: Total Length has 16 bits */
#define CONTROL_IPV4 68U      /* RFC 791 section 3.2: every path carries 68 */
#define CONTROL_IPV6 100U     /* RFC 8200 section 5: every path carries 1280 */
#define IPV6_SMALLEST_MTU 1280U /* RFC 8200 section 5 */

enum address_family {
	ADDRESS_NONE = 0,
	ADDRESS_IPV4 = 4,
	ADDRESS_IPV6 = 6,
};

struct address {
	uint8_t family;    /* enum address_family */
	uint8_t bytes[16]; /* network order; IPv4 uses the first four, the rest is 0 */
	int zone;          /* link index of an IPv6 link-local address, else 0 */
};

#define LINK_NAME_SIZE 16 /* with the closing NUL */

/* What matters of a link's kind: what lies below it, and what that costs. */
enum link_type {
	LINK_OTHER, /* hardware, and kinds that nothing can be said of */
	LINK_VETH,
	LINK_BRIDGE,
	LINK_BOND,
	LINK_TEAM,
	LINK_VLAN,
	LINK_MACVLAN, /* and macvtap */
	LINK_IPVLAN,  /* and ipvtap */
	LINK_VXLAN,
	LINK_GENEVE,
	LINK_GRE,     /* gre and ip6gre */
	LINK_GRETAP,  /* gretap and ip6gretap */
	LINK_IPIP,
	LINK_SIT,
	LINK_IP6TNL,
	LINK_WIREGUARD,
};

/* What a tunnel puts around a packet, and what it does with one that does not fit then. */
enum wrap {
	WRAP_IPV6 = 1 << 0,        /* its packets are IPv6 */
	WRAP_KEY = 1 << 1,
	WRAP_CHECKSUM = 1 << 2,
	WRAP_SEQUENCE = 1 << 3,
	WRAP_ENCAP_LIMIT = 1 << 4, /* RFC 2473 section 4.1.1 */
	WRAP_NO_ETHERNET = 1 << 5, /* no Ethernet header inside: vxlan gpe, geneve likewise */
	WRAP_FOU = 1 << 6,
	WRAP_GUE = 1 << 7,
	WRAP_FRAGMENTS = 1 << 8,   /* its packets leave without DF, in fragments */
	WRAP_EXTERNAL = 1 << 9,    /* where to is said with each packet */
};

/* How the IPv6 MTU of a link came to be below the link's own. */
enum ipv6_origin {
	IPV6_ORIGIN_UNKNOWN,
	IPV6_ORIGIN_ROUTER, /* told by the kernel: a router advertisement set it */
	IPV6_ORIGIN_SYSCTL, /* seen by reading only */
};

struct link {
	int index;
	char name[LINK_NAME_SIZE];
	char kind[LINK_NAME_SIZE]; /* "veth", "bridge", ...; "" for hardware */
	uint32_t mtu;
	uint32_t min_mtu;  /* 0: the driver does not say */
	uint32_t max_mtu;  /* 0: the driver does not say */
	uint32_t ipv6_mtu; /* what IPv6 uses on this link; 0: IPv6 is off on it */
	int parent;        /* link below it (IFLA_LINK), 0 none or in another namespace */
	int master;        /* bridge or bond it belongs to, 0 none */
	int pair;          /* the other end of a veth, 0 none or in another namespace */
	struct address local;    /* of a tunnel; ADDRESS_NONE: any */
	struct address remote;   /* of a tunnel; ADDRESS_NONE: any, or a group */
	uint16_t tunnel;         /* bits of enum wrap */
	uint8_t type;            /* enum link_type */
	uint8_t ipv6_origin;     /* enum ipv6_origin */
	bool up;           /* set up by the administrator */
	bool carrier;      /* can carry packets now */
	bool loopback;
	bool foreign;      /* what lies below it is in another namespace */
};

struct route {
	int error;              /* why there is none: -ENETUNREACH, -EHOSTUNREACH, -EACCES ...; 0 there is one */
	int link;               /* egress link index */
	bool local;             /* the address is one of this host's own */
	bool broadcast;         /* it is that of all hosts on a link, "192.0.2.255" */
	bool multicast;         /* it is that of a group */
	struct address source;  /* what the kernel would send from */
	struct address gateway; /* next hop; family ADDRESS_NONE: on the link itself */
	uint32_t mtu;           /* the route's own mtu metric, 0 none; not that of a clamp of ours */
	bool mtu_locked;
	uint32_t kernel_mtu;    /* what the kernel would use now: exceptions, locks, route and link */
	uint32_t clamp_mtu;     /* the route is a clamp of ours, of this size; 0 it is none */
	uint32_t exception_sec; /* seconds until a learned exception expires, 0: there is none */
	bool exception_locked;  /* it is below what this host takes for an MTU: packets leave without DF */
};

/* A live TCP connection of this host, whoever opened it. */
struct connection {
	struct address to, from; /* IPv4 where packets are, whatever the socket is */
	int link;                /* bound to this link, 0 to none */
	uint32_t mss;            /* data of a full segment: what this host sends */
	uint32_t announced_mss;  /* what this host told the peer that it takes */
	uint32_t pmtu;           /* what the connection holds the path's MTU to be */
	uint32_t window;         /* the peer's, bytes; see has_window */
	uint32_t in_flight;      /* bytes sent and not acknowledged */
	uint32_t segments;       /* of these bytes */
	uint32_t lost_before;    /* segments sent again in its life */
	uint64_t timeout_usec;   /* until the next retransmission, when it was begun to wait for */
	uint64_t sent_usec;      /* since data was last sent */
	uint64_t heard_usec;     /* since the peer last acknowledged something or sent data */
	uint8_t retransmits;     /* of the oldest segment, by timeout, since something was acknowledged */
	uint8_t backoff;         /* how often the timeout was doubled for it */
	uint8_t window_probes;   /* unanswered */
	bool has_window;         /* older kernels do not tell */
	bool timestamps;         /* every segment has them: RFC 7323 section 3.2 */
};

enum probe_kind {
	PROBE_ECHO,      /* ICMP echo request: the reply is as large */
	PROBE_SYN,       /* TCP SYN with data, to an open or closed port: the answer is small */
	PROBE_UDP,       /* UDP to a closed port: the answer is a small ICMP port unreachable */
	PROBE_RESPONDER, /* UDP to another mtuwatchd: a small receipt, and an answer as large */
};

/* One packet to send, DF set, never fragmented. */
struct probe {
	enum probe_kind kind;
	uint64_t nonce;        /* random, new every round; carried in the payload. Of a SYN only the
				* last 16 bits count: they and the sequence are its number */
	uint64_t cookie;       /* PROBE_RESPONDER: what that daemon gave us, 0 none yet */
	struct address to;
	struct address from;   /* ADDRESS_NONE: the kernel chooses */
	int link;              /* 0: the route decides */
	uint32_t size;
	uint16_t ident;        /* the flow, the same from round to round: echo identifier, or source port */
	uint16_t port;         /* destination port; not PROBE_ECHO */
	uint16_t sequence;
	uint8_t ttl;           /* 0: the system's default */
};

enum answer_kind {
	ANSWER_ECHO,          /* came back as large as it went: the peer's echo reply or answer */
	ANSWER_DELIVERED,     /* a small word that the probe arrived: SYN-ACK, RST, port unreachable, receipt */
	ANSWER_COOKIE,        /* the responder wants this cookie with every probe */
	ANSWER_TOO_BIG,       /* RFC 792 type 3 code 4, RFC 4443 type 2 */
	ANSWER_UNREACHABLE,   /* any other destination unreachable */
	ANSWER_TIME_EXCEEDED,
	ANSWER_REFUSED,       /* this host would not send the probe: error tells why */
};

struct answer {
	enum answer_kind kind;
	enum probe_kind probe; /* what kind of probe it is about */
	struct address from;   /* who sent it; ADDRESS_NONE for ANSWER_REFUSED */
	struct address to;     /* the peer that the probe was for */
	int link;              /* link it came in by */
	uint8_t ttl;           /* it came with; 0 unknown */
	uint16_t ident;
	uint16_t sequence;
	bool has_nonce;        /* a report may quote too little of the probe to hold it */
	uint64_t nonce;
	uint32_t size;         /* the probe's size: of the whole reply, or as quoted by the report */
	uint32_t mtu;          /* ANSWER_TOO_BIG: the size the router says fits */
	uint32_t fragment;     /* ANSWER_ECHO: largest fragment that the reply came in, 0 whole.
				* ANSWER_DELIVERED: what a receipt says of the probe's own fragments */
	uint32_t acknowledged; /* ANSWER_DELIVERED of a SYN: RFC 9293 section 3.5.2: the number of the SYN
				* plus 1, plus the length of its data where that was taken or refused too.
				* Sequence, nonce and size are not known from it */
	uint64_t cookie;       /* ANSWER_COOKIE */
	int error;             /* ANSWER_UNREACHABLE, ANSWER_REFUSED: negative errno */
};

/* This host was short of something: it tells nothing of the path. A full queue, ENOBUFS, may. */
bool error_is_shortage(int error);

/*
 * The nonce of probe number `sequence` of a round: its own for a SYN. Numbers of SYNs that differ
 * little would be taken for each other where an answer acknowledges their data as well.
 */
uint64_t probe_nonce(enum probe_kind kind, uint64_t nonce, uint16_t sequence);

/* Does `acknowledged` answer SYN number `sequence` of a round, which carried so much data? */
bool probe_syn_answered(uint64_t nonce, uint16_t sequence, uint32_t data, uint32_t acknowledged);

/* A quote of a UDP datagram may be too short to show which of the two kinds it was. */
bool probe_kind_fits(enum probe_kind asked, const struct answer *answer);

bool address_equal(const struct address *a, const struct address *b);
bool address_is_link_local(const struct address *address);

enum link_type link_type(const char *kind);
bool link_type_is_tunnel(enum link_type type);
/* Bytes that this tunnel puts around an IP packet; 0: it is none. */
uint32_t link_overhead(const struct link *link);
/* Field by field: what lies between them means nothing. */
bool link_equal(const struct link *a, const struct link *b);
/* Any bytes may be a link's name: those that cannot be shown, or mean something to a shell, become
 * question marks. */
void link_name_clean(char name[static LINK_NAME_SIZE]);
