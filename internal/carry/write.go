package carry

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"github.com/oxbow-memory/oxbow"
)

// MaxLine bounds a line in bytes. A turn of a hundred parts of the greatest
// length stays below it.
const MaxLine = 8 << 20

// Writer writes an export. It counts and hashes what goes through it.
type Writer struct {
	w      *bufio.Writer
	buf    bytes.Buffer
	enc    *json.Encoder
	hash   hash.Hash
	counts map[string]int
}

// NewWriter begins a file with its header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out := &Writer{w: bufio.NewWriterSize(w, 1<<16), hash: sha256.New(), counts: map[string]int{}}
	out.enc = json.NewEncoder(&out.buf)
	out.enc.SetEscapeHTML(false)
	return out, out.line(Line{Header: &h}, nil)
}

// Put writes one line between header and trailer. unsupported for a line over
// MaxLine, which no import would read.
func (w *Writer) Put(l Line) error {
	w.counts[l.Kind()]++
	return w.line(l, w.hash)
}

// Counts gives how many lines of each kind were written.
func (w *Writer) Counts() map[string]int { return w.counts }

// Close writes the trailer and what is still buffered. The file is whole only
// when it gave no error.
func (w *Writer) Close() error {
	t := Trailer{Counts: w.counts, SHA256: hex.EncodeToString(w.hash.Sum(nil))}
	if err := w.line(Line{Trailer: &t}, nil); err != nil {
		return err
	}
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

func (w *Writer) line(l Line, sum io.Writer) error {
	w.buf.Reset()
	if err := w.enc.Encode(l); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if w.buf.Len() > MaxLine {
		return oxbow.Errorf(oxbow.CodeUnsupported, "a %s of the scope %s makes a line of %d bytes, and %d are the most that an import reads: export the other scopes with --scope",
			l.Kind(), l.In().Name, w.buf.Len(), MaxLine)
	}
	if sum != nil {
		_, _ = sum.Write(w.buf.Bytes()) // a hash takes everything
	}
	if _, err := w.w.Write(w.buf.Bytes()); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}
