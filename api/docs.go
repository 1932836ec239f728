package api

import (
	"html/template"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// docs shows the OpenAPI document as a page that needs nothing from elsewhere,
// no script among it.
func (a *API) docs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	if err := docsPage.Execute(w, a.chapters()); err != nil {
		a.problem(r.Context(), err) // logs it; the page has begun
	}
}

// chapter is the routes of one tag.
type chapter struct {
	Name   string
	Routes []chapterRoute
}

type chapterRoute struct {
	Method, Path, Summary, Note string
	Fields                      []field
}

// field is a parameter, or a property of the body.
type field struct {
	Name, In, Type, Note string
	Required             bool
}

func (a *API) chapters() []chapter {
	doc := a.huma.OpenAPI()
	var out []chapter
	paths := make([]string, 0, len(doc.Paths))
	for p := range doc.Paths {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	at := map[string]int{}
	for _, p := range paths {
		item := doc.Paths[p]
		for _, o := range operations(item) {
			tag := o.Tags[0]
			i, ok := at[tag]
			if !ok {
				i = len(out)
				at[tag] = i
				out = append(out, chapter{Name: tag})
			}
			out[i].Routes = append(out[i].Routes, chapterRoute{o.Method, p, o.Summary, o.Description, a.fields(o)})
		}
	}
	return out
}

func (a *API) fields(o *huma.Operation) []field {
	var out []field
	for _, p := range o.Parameters {
		out = append(out, field{p.Name, p.In, p.Schema.Type, p.Description, p.Required})
	}
	if o.RequestBody == nil || o.RequestBody.Content["application/json"] == nil {
		return out
	}
	s := a.resolve(o.RequestBody.Content["application/json"].Schema)
	names := make([]string, 0, len(s.Properties))
	for n := range s.Properties {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		p := s.Properties[n]
		out = append(out, field{n, "body", a.resolve(p).Type, p.Description, slices.Contains(s.Required, n)})
	}
	return out
}

func (a *API) resolve(s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return a.huma.OpenAPI().Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

var docsPage = template.Must(template.New("docs").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Oxbow API</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
h2 { margin-top: 2.5rem; text-transform: capitalize } code { font-size: .95em }
details { border-bottom: 1px solid #8884; padding: .4rem 0 } summary { cursor: pointer }
.method { display: inline-block; width: 4.5rem; font-weight: 600 } .path { margin-right: 1rem }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-size: .92em } td, th { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top }
</style>
<h1>Oxbow API</h1>
<p>Send a key as <code>Authorization: Bearer KEY</code>. The same as a document: <a href="/openapi.json">OpenAPI 3.1</a>.</p>
{{range .}}<h2>{{.Name}}</h2>
{{range .Routes}}<details><summary><code class="method">{{.Method}}</code><code class="path">{{.Path}}</code>{{.Summary}}</summary>
<p>{{.Note}}</p>
{{if .Fields}}<table><tr><th>name<th>in<th>type<th>about</tr>
{{range .Fields}}<tr><td><code>{{.Name}}</code>{{if .Required}} *{{end}}<td>{{.In}}<td>{{.Type}}<td>{{.Note}}</tr>
{{end}}</table>{{end}}</details>
{{end}}{{end}}</html>
`))
