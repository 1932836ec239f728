package arch

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// source is one Go file of the module.
type source struct {
	path  string // from the module's root, with slashes
	pkg   string // its folder, "." for the root
	test  bool
	lines int
	set   *token.FileSet
	file  *ast.File
}

func (s source) imports() []string {
	var out []string
	for _, i := range s.file.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil {
			out = append(out, path)
		}
	}
	return out
}

func (s source) line(p token.Pos) int { return s.set.Position(p).Line }

// findRoot gives the folder of go.mod.
var findRoot = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the test")
		}
		dir = up
	}
})

func root(t *testing.T) string {
	t.Helper()
	dir, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var readSources = sync.OnceValues(func() ([]source, error) {
	dir, err := findRoot()
	if err != nil {
		return nil, err
	}
	var out []source
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && path != dir
			if hidden || d.Name() == "testdata" || d.Name() == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		s, err := readSource(dir, path)
		out = append(out, s)
		return err
	})
	return out, err
})

func readSource(dir, path string) (source, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return source{}, err
	}
	rel = filepath.ToSlash(rel)
	pkg := "."
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		pkg = rel[:i]
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{
		path: rel, pkg: pkg, test: strings.HasSuffix(rel, "_test.go"),
		lines: bytes.Count(text, []byte("\n")), set: set, file: file,
	}, err
}

// sources gives every Go file of the module, parsed once for all tests.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d Go files found: the walk is wrong", len(all))
	}
	return all
}
