package offline

import "strings"

// tool is a technology with the class whose place it takes. In an exclusive
// class a project has one: naming another "now" retires the first.
type tool struct {
	id    string
	class string
}

// exclusive holds the classes of which a project uses one at a time. Languages,
// caches, libraries and the like stand beside each other.
var exclusive = set("database", "python packages", "js packages", "js runtime", "editor", "ci", "host",
	"web framework", "css", "site generator", "tracker", "chat", "shell", "broker", "browser", "notes", "linter", "secrets", "os")

// lexicon lists the tools by class: names of one tool are joined by "=", the
// first being its id.
var lexicon = map[string]string{
	"database":        "postgresql=postgres=pg=psql=postgre, mysql, mariadb, sqlite=sqlite3, mongodb=mongo, oracle db, cockroachdb=cockroach, sql server=mssql, dynamodb, cassandra, duckdb, clickhouse, firestore",
	"python packages": "poetry, uv, pip=pip-tools, pipenv, conda=miniconda, pdm, rye, hatch",
	"js packages":     "npm, yarn, pnpm",
	"js runtime":      "node.js=node=nodejs, bun=bun.js=bunjs, deno",
	"editor":          "vs code=vscode=visual studio code, vim, neovim=nvim, emacs, goland, pycharm, zed, helix, sublime text=sublime, intellij",
	"ci":              "jenkins, github actions, gitlab ci, circleci=circle ci, travis=travis ci, buildkite, drone ci, woodpecker",
	"host":            "heroku, fly.io, render.com, vercel, netlify, hetzner, aws=amazon web services, gcp=google cloud, azure, digitalocean, cloudflare pages, railway",
	"web framework":   "flask, django, fastapi, rails, express.js=express, gin, echo, laravel, spring boot",
	"css":             "tailwind=tailwindcss=tailwind css, bootstrap, bulma",
	"site generator":  "hugo, jekyll, astro, eleventy=11ty, gatsby, zola, next.js=nextjs",
	"tracker":         "jira, linear, github issues, trello, asana, youtrack",
	"chat":            "slack, discord, microsoft teams=ms teams, zulip, mattermost",
	"shell":           "zsh, bash, fish shell, nushell",
	"broker":          "rabbitmq, kafka, nats, redis streams, sqs, celery",
	"browser":         "firefox, chrome, safari, arc browser",
	"notes":           "obsidian, notion, evernote, logseq",
	"linter":          "flake8, pylint, ruff, eslint, biome, golangci-lint",
	"secrets":         "1password, bitwarden, vault",
	"os":              "ubuntu, fedora, debian, nixos, arch linux, windows, macos, pop!_os",
	"language":        "python, javascript=js, typescript=ts, golang, rust, java, kotlin, ruby, php, elixir, c++, c#, sql, swift, haskell, zig",
	"cache":           "redis, memcached, valkey",
	"library":         "react, vue, svelte, htmx, sqlalchemy, alembic, pytest, black, mypy, pydantic, pandas, numpy, requests, httpx, jest, vitest, playwright, cypress, webpack, vite, esbuild, prettier",
	"operations":      "docker, docker compose, kubernetes=k8s, terraform, ansible, helm, nginx, caddy, traefik, prometheus, grafana, sentry, datadog, opentelemetry, pgbouncer, elasticsearch, opensearch, s3, minio, cloudflare, letsencrypt=let's encrypt",
	"service":         "github, gitlab, stripe, figma, zoom, graphql, grpc, oauth, openapi",
}

// plainWords are tool names that are also plain words: they count only when
// written with a capital or after a word of use (see toolAt).
var plainWords = set("render.com", "express.js", "echo", "gin", "zed", "helix", "arc browser", "linear", "notion", "black", "vault",
	"hatch", "rye", "bun", "node.js", "travis", "helm", "swift", "requests", "railway", "windows", "fish shell", "astro", "oracle db",
	"sublime text", "chrome", "safari", "slack", "discord", "zoom", "conda", "rails", "react", "rust", "ruby", "java", "poetry", "cockroachdb")

var tools = makeTools()

// makeTools gives tools by their name in lower-case words between spaces.
func makeTools() map[string]tool {
	m := map[string]tool{}
	for class, list := range lexicon {
		for entry := range strings.SplitSeq(list, ",") {
			names := strings.Split(strings.TrimSpace(entry), "=")
			for _, n := range names {
				m[n] = tool{id: names[0], class: class}
			}
		}
	}
	return m
}

// maxToolWords is the number of words in the longest name of a tool.
const maxToolWords = 3

// useWords come right before the name of a tool that is used.
var useWords = set("use", "uses", "using", "used", "on", "to", "from", "with", "of", "in", "off", "run", "runs", "running",
	"than", "over", "into", "via", "and", "or", "prefer", "prefers", "drop", "dropped", "install", "installed", "at", "for", "the", "try", "trying", "tried")

// toolAt gives the tool whose name begins at word i, and its length in words.
func toolAt(words []word, i int) (tool, int) {
	name := ""
	var found tool
	length := 0
	for n := 0; n < maxToolWords && i+n < len(words); n++ {
		if n > 0 {
			name += " "
		}
		name += words[i+n].low
		if t, ok := tools[name]; ok {
			found, length = t, n+1
		}
	}
	if length == 1 && plainWords[found.id] && !writtenAsTool(words, i) {
		return tool{}, 0
	}
	return found, length
}

// writtenAsTool tells whether a plain word stands for the tool of that name:
// with a capital inside a sentence, or after a word of use and before no noun.
func writtenAsTool(words []word, i int) bool {
	if capitalised(words[i].raw) {
		return i > 0 || i+1 < len(words) && !capitalised(words[i+1].raw)
	}
	return i > 0 && useWords[words[i-1].low]
}

// rivals lists the names of the other tools of an exclusive class.
func rivals(t tool) []string {
	if !exclusive[t.class] {
		return nil
	}
	var out []string
	for entry := range strings.SplitSeq(lexicon[t.class], ",") {
		names := strings.Split(strings.TrimSpace(entry), "=")
		if names[0] != t.id {
			out = append(out, names...)
		}
	}
	return out
}

// spellings lists every name of a tool.
func spellings(t tool) []string {
	for entry := range strings.SplitSeq(lexicon[t.class], ",") {
		names := strings.Split(strings.TrimSpace(entry), "=")
		if names[0] == t.id {
			return names
		}
	}
	return nil
}
