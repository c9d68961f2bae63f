/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a text means: numbers, times, names. Knows no key and no section, and never guesses:
 * a text that is not wholly understood is none.
 */
#include "config_parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

static const struct unit {
	const char *name;
	uint64_t usec;
} units[] = {
	/* clang-format off */
	{"d", 86400 * USEC_PER_SEC},
	{"h", 3600 * USEC_PER_SEC},
	{"min", 60 * USEC_PER_SEC},
	{"s", USEC_PER_SEC},
	{"ms", USEC_PER_MSEC},
	{"us", 1},
	/* clang-format on */
};
#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Digits at *text; moves it behind them. */
static int take_number(const char **text, uint64_t *ret)
{
	const char *at = *text;
	uint64_t number = 0;

	if (!is_digit(*at))
		return -EINVAL;
	for (; is_digit(*at); at++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return -ERANGE;
	*text = at;
	*ret = number;
	return 0;
}

int value_number(const char *text, uint64_t *ret)
{
	uint64_t number;
	int r = take_number(&text, &number);

	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	*ret = number;
	return 0;
}

/* ".25" of a unit; digits below a microsecond are dropped. */
static int take_fraction(const char **text, uint64_t unit_usec, uint64_t *ret_usec)
{
	uint64_t usec = 0, digit_usec = unit_usec;
	const char *at = *text;

	if (*at == '.') {
		if (!is_digit(*++at))
			return -EINVAL;
		for (; is_digit(*at); at++) {
			digit_usec /= 10;
			usec += digit_usec * (uint64_t)(*at - '0');
		}
	}
	*text = at;
	*ret_usec = usec;
	return 0;
}

/* The unit that follows a number, its fraction and blanks; seconds where there is none. */
static uint64_t unit_behind(const char *text, const char **ret_behind)
{
	text += strspn(text, ".0123456789");
	text += strspn(text, " \t");
	size_t length = 0;

	while (is_letter(text[length]))
		length++;
	*ret_behind = text + length;
	if (length == 0)
		return USEC_PER_SEC;
	for (unsigned i = 0; i < UNIT_COUNT; i++)
		if (strlen(units[i].name) == length && !strncmp(units[i].name, text, length))
			return units[i].usec;
	return 0;
}

int value_time(const char *text, uint64_t *ret_usec)
{
	uint64_t total = 0;

	text += strspn(text, " \t");
	if (!*text)
		return -EINVAL;
	while (*text) {
		uint64_t number, fraction, usec;
		const char *behind;
		int r = take_number(&text, &number);

		if (r < 0)
			return r;
		usec = unit_behind(text, &behind);
		if (usec == 0)
			return -EINVAL;
		r = take_fraction(&text, usec, &fraction);
		if (r < 0)
			return r;
		/* "1.5.5s": whatever unit_behind() skipped must be fraction and blanks */
		if (*text == '.')
			return -EINVAL;
		if (__builtin_mul_overflow(number, usec, &number) ||
		    __builtin_add_overflow(number, fraction, &number) ||
		    __builtin_add_overflow(total, number, &total) || total == USEC_NEVER)
			return -ERANGE;
		/* "1 000": only the last number may do without its unit */
		if (!is_letter(behind[-1]) && behind[strspn(behind, " \t")])
			return -EINVAL;
		text = behind + strspn(behind, " \t");
	}
	*ret_usec = total;
	return 0;
}

void value_print_time(uint64_t usec, FILE *out)
{
	const char *separator = "";

	if (usec == 0) {
		fputc('0', out);
		return;
	}
	for (unsigned i = 0; i < UNIT_COUNT; i++) {
		if (usec < units[i].usec)
			continue;
		fprintf(out, "%s%" PRIu64 "%s", separator, usec / units[i].usec, units[i].name);
		usec %= units[i].usec;
		separator = " ";
	}
}

static const char bandwidth_letters[] = "KMG";

int value_bandwidth(const char *text, uint64_t *ret)
{
	const char *letter;
	uint64_t bits;
	int r = take_number(&text, &bits);

	if (r < 0)
		return r;
	if (*text) {
		letter = strchr(bandwidth_letters, *text);
		if (!letter || text[1])
			return -EINVAL;
		for (const char *at = bandwidth_letters; at <= letter; at++)
			if (__builtin_mul_overflow(bits, 1000, &bits))
				return -ERANGE;
	}
	*ret = bits;
	return 0;
}

void value_print_bandwidth(uint64_t bits, FILE *out)
{
	unsigned letters = 0;

	while (letters < 3 && bits && bits % 1000 == 0) {
		bits /= 1000;
		letters++;
	}
	fprintf(out, "%" PRIu64, bits);
	if (letters)
		fputc(bandwidth_letters[letters - 1], out);
}

/* The same words as systemd.syntax(7). */
int value_boolean(const char *text, bool *ret)
{
	static const char *const words[] = {"no", "yes", "false", "true", "off", "on",
					    "0",  "1",	 "n",	  "y",	  "f",	 "t"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(text, words[i])) {
			*ret = i % 2;
			return 0;
		}
	return -EINVAL;
}

/* What the kernel takes as the name of a link. */
bool value_is_link_name(const char *text)
{
	size_t length = strlen(text);

	if (length == 0 || length >= LINK_NAME_SIZE || !strcmp(text, ".") || !strcmp(text, ".."))
		return false;
	return !strpbrk(text, "/:% \t");
}

static bool is_label(const char *label, size_t length)
{
	if (length == 0 || length > 63 || label[0] == '-' || label[length - 1] == '-')
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_letter(label[i]) && !is_digit(label[i]) && label[i] != '-' &&
		    label[i] != '_')
			return false;
	return true;
}

/* What inet_aton(3) would take for a number, though nobody writes hosts that way on purpose. */
static bool is_numeric_label(const char *label, size_t length)
{
	bool hex = length >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X');

	for (size_t i = hex ? 2 : 0; i < length; i++)
		if (!is_digit(label[i]) && !(hex && isxdigit((unsigned char)label[i])))
			return false;
	return true;
}

/* RFC 1123 section 2.1; underscores because names with them resolve in practice. */
bool value_is_host_name(const char *text)
{
	size_t length = strlen(text);

	if (length > 0 && text[length - 1] == '.')
		length--;
	if (length == 0 || length > 253)
		return false;
	for (const char *end = text + length, *label = text; label <= end;) {
		const char *dot = memchr(label, '.', (size_t)(end - label));
		size_t size = (size_t)((dot ? dot : end) - label);

		if (!is_label(label, size))
			return false;
		/* RFC 1123 section 2.1: the last label tells a name from an address */
		if (!dot && is_numeric_label(label, size))
			return false;
		label += size + 1;
	}
	return true;
}
