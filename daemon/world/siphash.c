/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SipHash-2-4 as its authors' paper describes it, section 2. Keeps no key. */
#include "siphash.h"

#define WORD 8U

struct state {
	uint64_t v[4];
};

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

/* Little-endian, whatever the host is; fewer than eight bytes leave the upper ones 0. */
static uint64_t word_get(const uint8_t *bytes, size_t count)
{
	uint64_t word = 0;

	for (size_t i = 0; i < count; i++)
		word |= (uint64_t)bytes[i] << (8 * i);
	return word;
}

static void state_half_round(uint64_t *a, uint64_t *b, unsigned bits)
{
	*a += *b;
	*b = rotate(*b, bits) ^ *a;
}

static void state_rounds(struct state *state, unsigned count)
{
	uint64_t *v = state->v;

	while (count-- > 0) {
		state_half_round(&v[0], &v[1], 13);
		state_half_round(&v[2], &v[3], 16);
		v[0] = rotate(v[0], 32);
		state_half_round(&v[2], &v[1], 17);
		state_half_round(&v[0], &v[3], 21);
		v[2] = rotate(v[2], 32);
	}
}

static void state_take(struct state *state, uint64_t word)
{
	state->v[3] ^= word;
	state_rounds(state, 2);
	state->v[0] ^= word;
}

uint64_t siphash(const uint8_t key[static SIPHASH_KEY_SIZE], const void *data, size_t length)
{
	const uint64_t k0 = word_get(key, WORD), k1 = word_get(key + WORD, WORD);
	/* "somepseudorandomlygeneratedbytes" */
	struct state state = {{k0 ^ 0x736f6d6570736575U, k1 ^ 0x646f72616e646f6dU,
			       k0 ^ 0x6c7967656e657261U, k1 ^ 0x7465646279746573U}};
	const uint8_t *bytes = data;
	size_t left = length;

	for (; left >= WORD; left -= WORD, bytes += WORD)
		state_take(&state, word_get(bytes, WORD));
	state_take(&state, word_get(bytes, left) | (uint64_t)length << 56);
	state.v[2] ^= 0xff;
	state_rounds(&state, 4);
	return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}
