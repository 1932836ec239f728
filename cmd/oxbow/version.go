package main

import (
	"runtime"

	"github.com/spf13/cobra"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the program's version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			out := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.show(out, func(p *printer) { p.line("oxbow %s (%s, %s)", out.Version, out.Go, out.Platform) })
		},
	}
}
