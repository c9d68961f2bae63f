/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration as a whole: opens the files, has them read and checked, and gives out either
 * all of it or none. Where there is no file, the defaults are the configuration.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <fnmatch.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "config_parse.h"

#define WRITER_MSEC 2000

static void peer_done(struct config_peer *peer)
{
	free(peer->host);
	free(peer->interfaces);
	free(peer->file);
}

void config_forget_peers(struct config *config)
{
	for (unsigned i = 0; i < config->peer_count; i++)
		peer_done(&config->peers[i]);
	free(config->peers);
	config->peers = NULL;
	config->peer_count = 0;
}

struct config *config_free(struct config *config)
{
	if (!config)
		return NULL;
	config_forget_peers(config);
	for (unsigned i = 0; i < config->link_count; i++)
		free(config->links[i].pattern);
	free(config->links);
	free(config->metrics_file);
	free(config);
	return NULL;
}

void draft_done(struct draft *draft)
{
	switch (draft->kind) {
	case SECTION_DAEMON:
		config_free(draft->daemon);
		return;
	case SECTION_PEER:
		peer_done(&draft->peer);
		return;
	case SECTION_LINK:
		free(draft->link.pattern);
		return;
	}
}

static void tree_keep(void *node)
{
}

static void complaints_done(struct complaints *complaints)
{
	for (unsigned i = 0; i < complaints->count && i < CONFIG_COMPLAINTS_LARGEST; i++)
		free(complaints->list[i].line);
}

static void reading_done(struct reading *reading)
{
	tdestroy(reading->by_name, tree_keep);
	for (unsigned i = 0; i < reading->draft_count; i++) {
		draft_done(reading->drafts[i]);
		free(reading->drafts[i]);
	}
	free(reading->drafts);
	for (unsigned i = 0; i < reading->file_count; i++)
		free(reading->files[i]);
	free(reading->files);
	free(reading->daemon);
	config_free(reading->config);
	complaints_done(&reading->complaints);
}

static int reading_init(struct reading *reading)
{
	*reading = (struct reading){0};
	reading->config = calloc(1, sizeof(*reading->config));
	reading->daemon = calloc(1, sizeof(*reading->daemon));
	if (!reading->config || !reading->daemon)
		return -ENOMEM;
	reading->daemon->kind = SECTION_DAEMON;
	reading->daemon->daemon = reading->config;
	return draft_init(reading->daemon);
}

/* Among the drop-ins a directory, a device or a pipe is a slip; --config may name a pipe. */
static int stream_check(int fd, bool named)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	/* a link to /dev/null masks, as everywhere in systemd */
	if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3))
		return 0;
	return S_ISREG(status.st_mode) || (named && S_ISFIFO(status.st_mode)) ? 0 : -EMEDIUMTYPE;
}

/* A pipe that somebody writes to is as good as a file, one that nobody does must not stop us. */
static int stream_wait(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int r = poll(&poll_fd, 1, WRITER_MSEC);

	if (r < 0)
		return -errno;
	if (r == 0)
		return -ETIMEDOUT;
	return fcntl(fd, F_SETFL, 0) < 0 ? -errno : 0;
}

static int stream_open(const char *path, bool named, FILE **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	FILE *stream = NULL;
	int r;

	if (fd < 0)
		return -errno;
	r = stream_check(fd, named);
	if (r == 0)
		r = stream_wait(fd);
	if (r == 0) {
		stream = fdopen(fd, "re");
		if (!stream)
			r = -errno;
	}
	if (!stream) {
		close(fd);
		return r;
	}
	*ret = stream;
	return 0;
}

static int file_read(struct reading *reading, const char *path, bool named)
{
	FILE *stream = NULL;
	int r = stream_open(path, named, &stream);

	if (r < 0) {
		complain_file(reading, r, path);
		return 0;
	}
	r = config_read(reading, stream, path);
	fclose(stream);
	return r;
}

static int files_read(struct reading *reading, const char *root)
{
	char **files;
	int r = config_files(root, &files);

	if (r < 0)
		return r;
	for (char **file = files; *file && r == 0; file++)
		r = file_read(reading, *file, false);
	config_files_free(files);
	return r;
}

/* The complaints in one text, saying how many did not fit. malloc'ed; NULL out of memory. */
static char *complaints_text(const struct complaints *complaints)
{
	unsigned kept = complaints->count;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (kept > CONFIG_COMPLAINTS_LARGEST)
		kept = CONFIG_COMPLAINTS_LARGEST;
	for (unsigned i = 0; i < kept; i++)
		fputs(complaints->list[i].line, out);
	if (complaints->count > kept)
		fprintf(out, "... and %u more\n", complaints->count - kept);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Ends the reading, whatever `r` says of it so far. */
static int reading_end(struct reading *reading, int r, struct config **ret, char **ret_error)
{
	if (r == 0)
		r = config_finish(reading);
	if (r == 0) {
		*ret = reading->config;
		reading->config = NULL;
	} else
		*ret_error = complaints_text(&reading->complaints);
	reading_done(reading);
	return r;
}

int config_load_root(const char *root, struct config **ret, char **ret_error)
{
	struct reading reading;
	int r = reading_init(&reading);

	if (r == 0)
		r = files_read(&reading, root);
	return reading_end(&reading, r, ret, ret_error);
}

int config_load_stream(FILE *stream, const char *name, struct config **ret, char **ret_error)
{
	struct reading reading;
	int r = reading_init(&reading);

	if (r == 0)
		r = config_read(&reading, stream, name);
	return reading_end(&reading, r, ret, ret_error);
}

int config_load(const char *path, struct config **ret, char **ret_error)
{
	struct reading reading;
	int r;

	if (!path)
		return config_load_root("", ret, ret_error);
	r = reading_init(&reading);
	if (r == 0)
		r = file_read(&reading, path, true);
	return reading_end(&reading, r, ret, ret_error);
}

void config_print(const struct config *config, FILE *out)
{
	fputs("[Daemon]\n", out);
	draft_print(SECTION_DAEMON, config, out);
	for (unsigned i = 0; i < config->peer_count; i++) {
		fprintf(out, "\n[Peer %s]\n", config->peers[i].name);
		draft_print(SECTION_PEER, &config->peers[i], out);
	}
	for (unsigned i = 0; i < config->link_count; i++) {
		fprintf(out, "\n[Link %s]\n", config->links[i].pattern);
		draft_print(SECTION_LINK, &config->links[i], out);
	}
}

bool config_wants_clamps(const struct config *config)
{
	bool wants = config->defaults.clamp.kind != CLAMP_OFF;

	for (unsigned i = 0; i < config->peer_count; i++)
		wants |= config->peers[i].settings.clamp.kind != CLAMP_OFF;
	for (unsigned i = 0; i < config->link_count; i++)
		wants |= config->links[i].clamp != CLAMP_OFF;
	return wants;
}

const struct config_link *config_link_for(const struct config *config, const char *name)
{
	for (unsigned i = 0; i < config->link_count; i++)
		if (fnmatch(config->links[i].pattern, name, 0) == 0)
			return &config->links[i];
	return NULL;
}
