package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestQuietRiver(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := quietRiver(slog.New(slog.NewTextHandler(&out, nil)), slog.LevelInfo)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	say := func(after time.Duration, level slog.Level, message, queue, err string) {
		r := slog.NewRecord(now.Add(after), level, message, 0)
		r.AddAttrs(slog.String("queue", queue), slog.String("err", err))
		if log.Enabled(t.Context(), level) {
			if e := log.Handler().Handle(context.Background(), r); e != nil {
				t.Error(e)
			}
		}
	}
	for i := range 100 {
		say(time.Duration(i)*time.Second/2, slog.LevelError, "cannot fetch", "write", "refused")
		say(time.Duration(i)*time.Second/2, slog.LevelError, "cannot fetch", "synthesis", "refused")
	}
	say(0, slog.LevelError, "cannot fetch", "write", "context canceled")
	say(0, slog.LevelInfo, "all is well", "write", "")
	say(time.Minute, slog.LevelError, "cannot fetch", "write", "refused")
	if got := strings.Count(out.String(), "\n"); got != 3 || strings.Contains(out.String(), "canceled") || strings.Contains(out.String(), "well") {
		t.Errorf("it said %d lines:\n%s", got, out.String())
	}
	out.Reset()
	quietRiver(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})), slog.LevelDebug).Debug("all is well")
	if out.Len() == 0 {
		t.Error("who looks closely is not told everything")
	}
}
