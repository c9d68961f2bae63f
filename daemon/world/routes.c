/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which link leads to an address, asked of the kernel each time. It keeps no route, and does not
 * believe an answer any longer than the question lasts.
 */
#include "routes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "clamp_message.h"
#include "gateways.h"
#include "netlink.h"
#include "route_message.h"

#define EVENTS_PER_TURN 256
/* hundredths of a second: an address that was changed this long after it was made is renewed */
#define RENEWED_TICKS 100U

struct routes {
	struct netlink events;
	struct netlink requests;
	uint32_t ignored_port;  /* whose changes are no news; 0 none */
	uint32_t ticks_per_sec; /* of the kernel's times as user space sees them */
	sd_event_source *source;
	routes_handler_t handler;
	void *userdata;
};

static void tell(struct routes *routes, const struct address *prefix, unsigned length)
{
	if (routes->handler != NULL)
		routes->handler(prefix, length, routes->userdata);
}

static void tell_all(struct routes *routes)
{
	static const struct address none;

	tell(routes, &none, 0);
}

static void on_route_event(struct routes *routes, struct nlmsghdr *message)
{
	struct route_message route;

	if (!route_message_parse(message, &route) || (route.flags & RTM_F_CLONED) != 0)
		return;
	switch (route.type) {
	case RTN_LOCAL:
	case RTN_BROADCAST:
	case RTN_ANYCAST:
	case RTN_MULTICAST:
		/* what comes along with an address, of which there is a message too */
		return;
	}
	tell(routes, &route.prefix, route.length);
}

/* Each router advertisement renews the lifetimes of the addresses made from it. */
static bool address_renewed(struct nlmsghdr *message)
{
	struct nlattr *attributes[IFA_MAX + 1];
	struct ifa_cacheinfo info;
	const struct ifaddrmsg *address;

	if (message->nlmsg_type != RTM_NEWADDR ||
	    nlmsg_parse(message, sizeof(*address), attributes, IFA_MAX, NULL) < 0 ||
	    attributes[IFA_CACHEINFO] == NULL ||
	    nla_len(attributes[IFA_CACHEINFO]) < (int)sizeof(info))
		return false;
	address = nlmsg_data(message);
	memcpy(&info, nla_data(attributes[IFA_CACHEINFO]), sizeof(info));
	return address->ifa_family == AF_INET6 && info.ifa_prefered != 0 &&
	       info.tstamp - info.cstamp > RENEWED_TICKS;
}

static int on_event(struct nlmsghdr *message, void *userdata)
{
	struct routes *routes = userdata;

	if (routes->ignored_port != 0 && message->nlmsg_pid == routes->ignored_port)
		return 0;
	switch (message->nlmsg_type) {
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		on_route_event(routes, message);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		if (!address_renewed(message))
			tell_all(routes);
		break;
	case RTM_NEWRULE:
	case RTM_DELRULE:
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		tell_all(routes);
		break;
	}
	return 0;
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct routes *routes = userdata;

	for (unsigned i = 0; i < EVENTS_PER_TURN; i++) {
		int r = netlink_receive(&routes->events, on_event, routes);

		if (r == -EAGAIN)
			return 0;
		if (r == -ENOBUFS) {
			/* the hint to look at everything covers all that still waits */
			netlink_discard(&routes->events);
			tell_all(routes);
			return 0;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int watch_events(struct routes *routes, sd_event *event)
{
	static const int groups[] = {
		RTNLGRP_IPV4_ROUTE,  RTNLGRP_IPV6_ROUTE,  RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,
		RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_NEXTHOP,   0,
	};
	int r = netlink_open(&routes->events, groups);

	if (r < 0)
		return r;
	return sd_event_add_io(event, &routes->source, routes->events.fd, EPOLLIN, on_readable,
			       routes);
}

int routes_new(struct routes **ret, sd_event *event, routes_handler_t handler, void *userdata)
{
	struct routes *routes = calloc(1, sizeof(*routes));
	long ticks = sysconf(_SC_CLK_TCK);
	int r;

	if (routes == NULL)
		return -ENOMEM;
	routes->handler = handler;
	routes->userdata = userdata;
	routes->ticks_per_sec = ticks > 0 ? (uint32_t)ticks : 100;
	r = event != NULL ? watch_events(routes, event) : 0;
	if (r >= 0)
		r = netlink_open(&routes->requests, NULL);
	if (r < 0) {
		routes_free(routes);
		return r;
	}
	*ret = routes;
	return 0;
}

void routes_ignore(struct routes *routes, uint32_t port)
{
	routes->ignored_port = port;
}

struct routes *routes_free(struct routes *routes)
{
	if (routes == NULL)
		return NULL;
	sd_event_source_disable_unref(routes->source);
	netlink_close(&routes->requests);
	netlink_close(&routes->events);
	free(routes);
	return NULL;
}

struct route_request {
	struct nlmsghdr header;
	struct rtmsg info;
	char attributes[2 * NLMSG_ALIGN(sizeof(struct nlattr) + 16) +
			NLMSG_ALIGN(sizeof(struct nlattr) + sizeof(uint32_t))];
};

static void put_address(struct route_request *request, uint16_t type, const struct address *address)
{
	netlink_put(&request->header, type, address->bytes,
		    address->family == ADDRESS_IPV4 ? 4 : 16);
}

static void request_fill(struct route_request *request, const struct address *to,
			 const struct address *from, int link)
{
	uint8_t bits = to->family == ADDRESS_IPV4 ? 32 : 128;

	memset(request, 0, sizeof(*request));
	request->header.nlmsg_len = NLMSG_LENGTH(sizeof(request->info));
	request->header.nlmsg_type = RTM_GETROUTE;
	request->info.rtm_family = to->family == ADDRESS_IPV4 ? AF_INET : AF_INET6;
	request->info.rtm_dst_len = bits;
	put_address(request, RTA_DST, to);
	if (from != NULL && from->family == to->family) {
		request->info.rtm_src_len = bits;
		put_address(request, RTA_SRC, from);
	}
	if (link == 0 && address_is_link_local(to))
		link = to->zone;
	if (link != 0)
		netlink_put(&request->header, RTA_OIF, &link, sizeof(link));
}

static int on_answer(struct nlmsghdr *message, void *userdata)
{
	return route_message_parse(message, userdata) ? 0 : -EBADMSG;
}

/* Why packets do not go by a route of this type. */
static int type_error(uint8_t type)
{
	switch (type) {
	case RTN_UNREACHABLE:
		return -EHOSTUNREACH;
	case RTN_PROHIBIT:
		return -EACCES;
	case RTN_BLACKHOLE:
		return -EINVAL;
	case RTN_THROW:
		return -ENETUNREACH;
	default: /* the kernel's numbers, not ours */
		return 0;
	}
}

/* Errors that are about the asking; all others are the kernel's answer. */
static bool error_is_ours(int error)
{
	switch (-error) {
	case ENOMEM:
	case ENOBUFS:
	case ETIMEDOUT:
	case EBADMSG:
	case EPERM:
		return true;
	default:
		return false;
	}
}

/*
 * The plain lookup shows one MTU: the exception's while there is one, else the route's own. Only
 * what expires can be an exception, and only what is locked a clamp, whose maker the plain lookup
 * does not tell: then the table's entry is asked for as well.
 */
static void own_mtu(struct routes *routes, struct route_request *request,
		    const struct route_message *seen, struct route *route)
{
	struct route_message own;

	route->mtu = seen->mtu;
	route->mtu_locked = seen->mtu_locked;
	if (seen->mtu == 0 || (seen->expires == 0 && !seen->mtu_locked))
		return;
	request->info.rtm_flags = RTM_F_FIB_MATCH;
	if (netlink_ask(&routes->requests, &request->header, on_answer, &own) < 0)
		own = (struct route_message){0}; /* gone between the two questions */
	if (own.protocol == CLAMP_PROTOCOL) {
		route->clamp_mtu = own.mtu;
		route->mtu = 0;
		route->mtu_locked = false;
	} else {
		route->mtu = own.mtu;
		route->mtu_locked = own.mtu_locked;
	}
	if (seen->expires == 0)
		return;
	/* a redirect expires too, and leaves the MTU as it is */
	if (seen->mtu == own.mtu && seen->mtu_locked == own.mtu_locked)
		return;
	route->exception_sec = (seen->expires + routes->ticks_per_sec - 1) / routes->ticks_per_sec;
	route->exception_locked = seen->mtu_locked && !own.mtu_locked;
}

int routes_ask(struct routes *routes, const struct address *to, const struct address *from,
	       int link, struct route *ret)
{
	struct route_request request;
	struct route_message seen;
	struct route route;
	int r;

	if (to->family != ADDRESS_IPV4 && to->family != ADDRESS_IPV6)
		return -EAFNOSUPPORT;
	request_fill(&request, to, from, link);
	r = netlink_ask(&routes->requests, &request.header, on_answer, &seen);
	if (r < 0) {
		if (error_is_ours(r))
			return r;
		/* the kernel was built or booted without this family */
		*ret = (struct route){.error = r == -EOPNOTSUPP ? -EAFNOSUPPORT : r};
		return 0;
	}
	route = (struct route){
		.error = type_error(seen.type),
		.link = seen.link,
		/* an anycast address that the kernel knows as such is this host's too */
		.local = seen.type == RTN_LOCAL || seen.type == RTN_ANYCAST,
		.broadcast = seen.type == RTN_BROADCAST,
		.multicast = seen.type == RTN_MULTICAST,
		.source = seen.source,
		.gateway = seen.gateway,
		.kernel_mtu = seen.mtu,
	};
	own_mtu(routes, &request, &seen, &route);
	*ret = route;
	return 0;
}

struct lead {
	int link;
	bool leads;
};

static int on_lead_hop(const struct next_hop *hop, void *userdata)
{
	struct lead *lead = userdata;

	lead->leads |= hop->link == lead->link && !hop->dead;
	return 0;
}

/* Looks at the next hops while the message is there. */
static int on_lead(struct nlmsghdr *message, void *userdata)
{
	struct lead *lead = userdata;
	struct route_message route;

	if (!route_message_parse(message, &route))
		return -EBADMSG;
	if (type_error(route.type) != 0)
		return 0;
	lead->leads |= route.link == lead->link;
	return route_message_hops(&route, on_lead_hop, lead);
}

bool routes_lead(struct routes *routes, const struct address *to, const struct address *from,
		 int link)
{
	struct route_request request;
	struct lead lead = {.link = link};

	if (to->family != ADDRESS_IPV4 && to->family != ADDRESS_IPV6)
		return false;
	request_fill(&request, to, from, link);
	request.info.rtm_flags = RTM_F_FIB_MATCH;
	return netlink_ask(&routes->requests, &request.header, on_lead, &lead) >= 0 && lead.leads;
}

int routes_owner(struct routes *routes, const struct address *address)
{
	struct route_request request;
	struct route_message seen;

	if (address->family != ADDRESS_IPV4 && address->family != ADDRESS_IPV6)
		return 0;
	request_fill(&request, address, NULL, 0);
	/* the table's own entry names the link, the lookup the loopback */
	request.info.rtm_flags = RTM_F_FIB_MATCH;
	if (netlink_ask(&routes->requests, &request.header, on_answer, &seen) < 0 ||
	    seen.type != RTN_LOCAL)
		return 0;
	return seen.link;
}

int routes_gateways(struct routes *routes, struct gateway **ret, unsigned *ret_count)
{
	return gateways_collect(&routes->requests, ret, ret_count);
}
