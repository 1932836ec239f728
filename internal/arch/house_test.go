package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"testing"
)

// The limits of HOUSE.md, in lines.
const (
	maxFile     = 700
	maxFunction = 90
	maxMain     = 60
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.lines > maxFile {
			t.Errorf("%s has %d lines, more than %d: split it by subject", f.path, f.lines, maxFile)
		}
		if f.path == "cmd/oxbow/main.go" && f.lines > maxMain {
			t.Errorf("%s has %d lines, more than %d: it only wires", f.path, f.lines, maxMain)
		}
		for _, d := range f.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			checkFunction(t, f, fn.Name.Name, fn)
		}
	}
}

// checkFunction measures a function. A sub-test is a function of its own that
// happens to stand inside another, so each is measured, and not its list.
func checkFunction(t *testing.T, f source, name string, fn ast.Node) {
	lines := f.line(fn.End()) - f.line(fn.Pos()) + 1
	ast.Inspect(fn, func(n ast.Node) bool {
		sub := subTest(n)
		if sub == nil {
			return true
		}
		lines -= f.line(sub.End()) - f.line(sub.Pos())
		checkFunction(t, f, fmt.Sprintf("the sub-test of %s in line %d", name, f.line(sub.Pos())), sub)
		return false
	})
	if lines > maxFunction {
		t.Errorf("%s: %s has %d lines, more than %d", f.path, name, lines, maxFunction)
	}
}

// subTest gives the function that is run as t.Run("a sentence", func …), or nil.
func subTest(n ast.Node) *ast.FuncLit {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Run" {
		return nil
	}
	body, _ := call.Args[1].(*ast.FuncLit)
	return body
}

func TestDocumentation(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		documented[f.pkg] = documented[f.pkg] || f.file.Doc.Text() != ""
		for _, d := range f.file.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s:%d: %s is exported and has no comment", f.path, f.line(d.Pos()), name)
			}
		}
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("the package %s does not say what it is for", pkg)
		}
	}
}

// undocumented gives the exported names of a declaration that no comment says
// anything about. A group's comment speaks for all of the group.
func undocumented(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc.Text() == "" && exportedReceiver(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT || d.Doc.Text() != "" {
			return nil
		}
		var out []string
		for _, s := range d.Specs {
			out = append(out, undocumentedSpec(s)...)
		}
		return out
	}
	return nil
}

func undocumentedSpec(s ast.Spec) []string {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc.Text() == "" && s.Comment.Text() == "" {
			return []string{s.Name.Name}
		}
	case *ast.ValueSpec:
		if s.Doc.Text() != "" || s.Comment.Text() != "" {
			return nil
		}
		var out []string
		for _, n := range s.Names {
			if n.IsExported() {
				out = append(out, n.Name)
			}
		}
		return out
	}
	return nil
}

// exportedReceiver tells whether a function can be seen from outside: it has
// no receiver, or one whose type is exported.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

func TestManners(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if !f.test {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, _ := sel.X.(*ast.Ident)
			switch {
			case from != nil && from.Name == "time" && sel.Sel.Name == "Sleep":
				t.Errorf("%s:%d: a test that sleeps is slow or wrong: wait for what it waits for", f.path, f.line(n.Pos()))
			case sel.Sel.Name == "SkipNow", sel.Sel.Name == "Skip" && len(call.Args) == 0 && from != nil && len(from.Name) == 1:
				t.Errorf("%s:%d: a skip says why", f.path, f.line(n.Pos()))
			}
			return true
		})
	}
}
