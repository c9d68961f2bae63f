/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What links and routes make of a path before anything is sent, and what changes matter. */
#include "path_scene.h"

struct row {
	const char *what;
	uint8_t family;                    /* 0: IPv4 */
	uint32_t mtu, ipv6_mtu, route_mtu; /* mtu 0: 9000 */
	uint32_t asked, link_asked;
	uint32_t wanted_mtu; /* a wanted link; 0: none is wanted */
	bool wrong_link;
	uint32_t expected, capacity;
	enum reason narrow;
	bool configured;
};

/* clang-format off */
#define V6 .family = ADDRESS_IPV6
#define IS(expected_, capacity_) .expected = (expected_), .capacity = (capacity_)
#define NARROW(why) .narrow = REASON_##why
static const struct row rows[] = {
	{"the link's", IS(9000, 9000)},
	{"the link's, IPv6", V6, IS(9000, 9000)},
	{"the route's", .route_mtu = 1400, IS(1400, 1400)},
	{"a route above the link", .route_mtu = 9600, IS(9000, 9000)},
	{"IPv6 uses less", V6, .ipv6_mtu = 1500, IS(1500, 1500)},
	{"IPv6 claims more", V6, .ipv6_mtu = 9600, IS(9000, 9000)},
	{"IPv4 does not care", .ipv6_mtu = 1500, IS(9000, 9000)},
	{"more than a packet can be", .mtu = 65536, IS(65535, 65535)},
	{"more than is asked for", .asked = 1500, IS(1500, 9000), .configured = true},
	{"just what is asked for", .asked = 9000, IS(9000, 9000), .configured = true},
	{"the peer's goes before the link's", .asked = 1500, .link_asked = 9216,
		IS(1500, 9000), .configured = true},
	{"the link is too small", .link_asked = 9216,
		IS(9216, 9000), NARROW(LINK_SMALLER), .configured = true},
	{"IPv6 uses too little", V6, .ipv6_mtu = 1500, .asked = 9000,
		IS(9000, 1500), NARROW(LINK_SMALLER), .configured = true},
	{"the route is too small", .route_mtu = 8999, .asked = 9000,
		IS(9000, 8999), NARROW(ROUTE_SMALLER), .configured = true},
	{"both are too small", .mtu = 1500, .route_mtu = 1400, .asked = 9000,
		IS(9000, 1400), NARROW(LINK_SMALLER), .configured = true},
	{"the wanted link", .wanted_mtu = 9000, IS(9000, 9000)},
	{"the wrong link", .mtu = 1500, .wanted_mtu = 9000, .wrong_link = true,
		IS(9000, 1500), NARROW(WRONG_LINK)},
	{"the wrong link, and it is larger", .wanted_mtu = 1500, .wrong_link = true,
		IS(1500, 9000), NARROW(WRONG_LINK)},
	{"the wrong link, something asked for", .mtu = 1500, .wanted_mtu = 9000, .wrong_link = true,
		.asked = 4000, IS(4000, 1500), NARROW(WRONG_LINK), .configured = true},
};
/* clang-format on */

START_TEST(sizes)
{
	const struct row *row = &rows[_i];
	struct scene scene;
	const struct path_facts *facts = &scene.path.facts;

	scene_init(&scene, row->family ? row->family : ADDRESS_IPV4);
	scene.link.mtu = row->mtu ? row->mtu : 9000;
	scene.link.ipv6_mtu = row->ipv6_mtu;
	scene.route.mtu = row->route_mtu;
	scene.settings.expect_mtu = row->asked;
	scene.around.link_expected = row->link_asked;
	scene.around.wrong_link = row->wrong_link;
	scene.wanted.mtu = row->wanted_mtu;
	if (row->wanted_mtu) {
		strcpy(scene.path.wanted_link, "eth1");
		scene.around.wanted = &scene.wanted;
	}
	scene_look(&scene);
	ck_assert_msg(facts->expected == row->expected && facts->capacity == row->capacity,
		      "%s: expected %u, capacity %u", row->what, facts->expected, facts->capacity);
	ck_assert_msg(facts->narrow == row->narrow, "%s: narrow %d", row->what, facts->narrow);
	ck_assert_msg(facts->expect_configured == row->configured, "%s", row->what);
	ck_assert_int_eq(facts->trouble, REASON_NONE);
	ck_assert_uint_eq(facts->kernel_mtu, row->capacity);
	ck_assert(!facts->on_link);
}
END_TEST

/* Every size that the host may send is asked for, none that it may not. */
START_TEST(never_above_capacity)
{
	const struct row *row = &rows[_i];
	struct moment moment = {.now_usec = 5};
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.path.facts.expected = row->expected;
	scene.path.facts.capacity = row->capacity;
	path_begin(&scene.path, (void *)scene.memory, &moment);
	ck_assert_uint_le(scene_round(&scene)->settings.full, row->capacity);
	ck_assert_uint_le(scene_round(&scene)->settings.full, row->expected);
	ck_assert_uint_eq(scene_round(&scene)->settings.control, 68);
}
END_TEST

/* Where not even the control fits, the control is all there is. */
START_TEST(tiny_link)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.link.mtu = 60;
	scene_look(&scene);
	scene_rounds(&scene, 1);
	assert_said(&scene, VERDICT_CONSISTENT, 60);
	ck_assert_uint_eq(scene.sent, 1);
	scene.limit = 0;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_UNREACHABLE, 0);
}
END_TEST

/* --- trouble --- */

typedef void trouble_make(struct scene *scene);

static void no_address(struct scene *scene)
{
	scene->path.address.family = ADDRESS_NONE;
}

static void own_address(struct scene *scene)
{
	scene->route.local = true;
}

static void no_wanted_link(struct scene *scene)
{
	strcpy(scene->path.wanted_link, "eth1");
}

static void wanted_link_down(struct scene *scene)
{
	strcpy(scene->path.wanted_link, "eth1");
	scene->around.wanted = &scene->wanted;
	scene->wanted.up = false;
}

static void wanted_link_without_carrier(struct scene *scene)
{
	wanted_link_down(scene);
	scene->wanted.up = true;
	scene->wanted.carrier = false;
}

static void no_route(struct scene *scene)
{
	scene->route.error = -ENETUNREACH;
}

static void no_link(struct scene *scene)
{
	scene->around.link = NULL;
}

static void link_down(struct scene *scene)
{
	scene->link.up = false;
}

static void link_without_carrier(struct scene *scene)
{
	scene->link.carrier = false;
}

static const struct {
	trouble_make *make;
	enum reason reason;
	enum verdict verdict;
} troubles[] = {
	{no_address, REASON_NO_ADDRESS, VERDICT_UNREACHABLE},
	{own_address, REASON_OWN_ADDRESS, VERDICT_MISCONFIGURED},
	{no_wanted_link, REASON_NO_LINK, VERDICT_UNREACHABLE},
	{wanted_link_down, REASON_LINK_DOWN, VERDICT_UNREACHABLE},
	{wanted_link_without_carrier, REASON_LINK_DOWN, VERDICT_UNREACHABLE},
	{no_route, REASON_NO_ROUTE, VERDICT_UNREACHABLE},
	{no_link, REASON_NO_LINK, VERDICT_UNREACHABLE},
	{link_down, REASON_LINK_DOWN, VERDICT_UNREACHABLE},
	{link_without_carrier, REASON_LINK_DOWN, VERDICT_UNREACHABLE},
};

/* Nothing is sent, no size is claimed, and what was measured before is kept in mind. */
START_TEST(trouble)
{
	struct scene scene;
	unsigned sent;

	scene_init(&scene, ADDRESS_IPV4);
	scene_rounds(&scene, 1);
	sent = scene.sent;
	troubles[_i].make(&scene);
	ck_assert(scene_look(&scene));
	ck_assert_int_eq(scene.path.facts.trouble, troubles[_i].reason);
	path_restart(&scene.path, scene.now);
	scene_rounds(&scene, 2);
	assert_said(&scene, troubles[_i].verdict, 0);
	ck_assert_int_eq(scene.path.announced.reason, troubles[_i].reason);
	ck_assert_uint_eq(scene.sent, sent);
	ck_assert_uint_eq(scene.path.known_mtu, 9000);
	ck_assert(scene.path.facts.ever_answered);
	ck_assert_uint_eq(scene.path.facts.expected, 0);
}
END_TEST

/* --- changes --- */

typedef void change_make(struct scene *scene);

static void change_nothing(struct scene *scene)
{
}

static void change_mtu(struct scene *scene)
{
	scene->link.mtu = 1500;
}

static void change_mtu_above(struct scene *scene)
{
	/* what is asked for is 9000 as before, but the link was touched */
	scene->link.mtu = 9216;
}

static void change_route_mtu(struct scene *scene)
{
	scene->route.mtu = 1400;
}

static void change_gateway(struct scene *scene)
{
	scene->route.gateway.bytes[3] = 253;
}

static void change_source(struct scene *scene)
{
	scene->route.source.bytes[3] = 3;
}

static void change_link(struct scene *scene)
{
	scene->route.link = 3;
}

static void change_expected(struct scene *scene)
{
	scene->settings.expect_mtu = 8000;
}

static void change_kernel_mtu(struct scene *scene)
{
	scene->route.kernel_mtu = 1400;
	scene->route.exception_sec = 600;
}

static void change_name(struct scene *scene)
{
	strcpy(scene->link.name, "lan0");
}

static const struct {
	const char *what;
	change_make *make;
	bool differs;
} changes[] = {
	{"nothing", change_nothing, false},
	{"the link's MTU", change_mtu, true},
	{"the link's MTU, beyond what is asked for", change_mtu_above, true},
	{"the route's MTU", change_route_mtu, true},
	{"the gateway", change_gateway, true},
	{"the source", change_source, true},
	{"the link", change_link, true},
	{"the expected MTU", change_expected, true},
	{"the carrier", link_without_carrier, true},
	{"the route", no_route, true},
	{"what the kernel learned by itself", change_kernel_mtu, false},
	{"the link's name", change_name, false},
};

START_TEST(change)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.settings.expect_mtu = 9000;
	scene_look(&scene);
	ck_assert(!scene_look(&scene));
	changes[_i].make(&scene);
	ck_assert_msg(scene_look(&scene) == changes[_i].differs, "%s", changes[_i].what);
	ck_assert_msg(!scene_look(&scene), "%s: again", changes[_i].what);
	ck_assert_str_eq(scene.path.link_name, scene.link.name);
}
END_TEST

/* What lies behind a route that is smaller than its link changes all the same. */
START_TEST(changes_behind_the_route)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.route.mtu = 8000;
	scene_look(&scene);
	ck_assert(!scene_look(&scene));
	scene.link.mtu = 9216;
	ck_assert(scene_look(&scene));
	scene.route.error = -ENETUNREACH;
	scene_look(&scene);
	ck_assert(!scene_look(&scene));
	scene.route.error = -EHOSTUNREACH;
	ck_assert(scene_look(&scene));
}
END_TEST

struct clamped_row {
	const char *what;
	uint32_t asked, route_clamp;
	bool wrong_link;
	uint32_t expected, clamp;
	enum reason narrow;
};

static const struct clamped_row clamped_rows[] = {
	{"as before", 0, 0, false, 9000, 1500, REASON_NONE},
	{"less is asked for", 4000, 0, false, 4000, 1500, REASON_NONE},
	{"just that is asked for", 9000, 0, false, 9000, 1500, REASON_NONE},
	{"more than the link ever had", 9216, 0, false, 9216, 1500, REASON_LINK_SMALLER},
	{"the route is clamped lower still", 0, 1400, false, 9000, 1400, REASON_NONE},
	{"the route was clamped before", 0, 4000, false, 9000, 1500, REASON_NONE},
	{"it is not the wanted link", 0, 0, true, 9000, 1500, REASON_WRONG_LINK},
};

/* A clamp of ours on the link changes nothing of what is expected. */
START_TEST(clamped_link)
{
	const struct clamped_row *row = &clamped_rows[_i];
	struct scene scene;
	const struct path_facts *facts = &scene.path.facts;

	scene_init(&scene, ADDRESS_IPV4);
	scene.link.mtu = 1500;
	scene.around.clamped_from = 9000;
	scene.around.wanted = &scene.wanted;
	scene.around.wrong_link = row->wrong_link;
	scene.settings.expect_mtu = row->asked;
	scene.route.clamp_mtu = row->route_clamp;
	scene_look(&scene);
	ck_assert(facts->link_clamped);
	ck_assert_msg(facts->expected == row->expected, "%s: %u", row->what, facts->expected);
	ck_assert_msg(facts->clamp_mtu == row->clamp, "%s: %u", row->what, facts->clamp_mtu);
	ck_assert_msg(facts->narrow == row->narrow, "%s: %d", row->what, facts->narrow);
	ck_assert_uint_eq(facts->capacity, 1500);
}
END_TEST

/* The kernel was told by its own tunnel: as good as a router's word. */
START_TEST(kernel_knows)
{
	struct scene scene;

	scene_init(&scene, ADDRESS_IPV4);
	scene.route.kernel_mtu = 1500;
	scene.route.gateway = (struct address){0};
	scene_look(&scene);
	ck_assert(scene.path.facts.on_link);
	scene.limit = 1500;
	scene_rounds(&scene, 2);
	assert_said(&scene, VERDICT_REDUCED, 1500);
	ck_assert_int_eq(scene.path.announced.locus, LOCUS_NONE);
}
END_TEST

START_TEST(link_local)
{
	static const struct {
		struct address address;
		bool is;
	} addresses[] = {
		{{.family = ADDRESS_IPV6, .bytes = {0xfe, 0x80}}, true},
		{{.family = ADDRESS_IPV6, .bytes = {0xfe, 0xbf, 1}}, true},
		{{.family = ADDRESS_IPV6, .bytes = {0xfe, 0xc0}}, false},
		{{.family = ADDRESS_IPV6, .bytes = {0xfd, 0x80}}, false},
		{{.family = ADDRESS_IPV4, .bytes = {0xfe, 0x80}}, false},
		{{.family = ADDRESS_IPV4, .bytes = {169, 254, 1, 1}}, false},
	};

	for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		ck_assert_msg(address_is_link_local(&addresses[i].address) == addresses[i].is,
			      "address %u", i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("surroundings");
	TCase *test = tcase_create("surroundings");
	int count = sizeof(rows) / sizeof(rows[0]);

	tcase_add_loop_test(test, sizes, 0, count);
	tcase_add_loop_test(test, never_above_capacity, 0, count);
	tcase_add_test(test, tiny_link);
	tcase_add_loop_test(test, trouble, 0, sizeof(troubles) / sizeof(troubles[0]));
	tcase_add_loop_test(test, change, 0, sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(test, changes_behind_the_route);
	tcase_add_loop_test(test, clamped_link, 0,
			    sizeof(clamped_rows) / sizeof(clamped_rows[0]));
	tcase_add_test(test, kernel_knows);
	tcase_add_test(test, link_local);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
