package main

import (
	"github.com/spf13/cobra"
)

func configCommand(a *app) *cobra.Command {
	return group(a, "config", "See what is configured, and where", configShowCommand(a), configCheckCommand(a))
}

// shownSetting is a setting as config show prints it.
type shownSetting struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Origin   string `json:"origin"`
	Variable string `json:"variable"`
	About    string `json:"about"`
}

func configShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Print every setting and where it comes from; secrets are masked",
		Long: `Print every setting and where it comes from; secrets are masked. A flag goes over
the environment, the environment over the file, the file over the default. The
file is TOML: tables, and strings, numbers and truth values, one a line.

  judge = "openai"

  [openai]
  base_url = "http://localhost:11434/v1"
  model = "qwen3:8b"`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := a.settings(cmd, false)
			if err != nil {
				return err
			}
			var out []shownSetting
			for _, k := range keys {
				s := conf[k.name]
				out = append(out, shownSetting{Name: k.name, Value: s.masked(), Origin: s.origin, Variable: k.variable(), About: k.about})
			}
			return a.show(out, func(p *printer) {
				t := newTable("SETTING", "VALUE", "FROM", "VARIABLE")
				for _, s := range out {
					t.add(s.Name, s.Value, s.Origin, s.Variable)
				}
				p.table(t)
			})
		},
	}
}

func configCheckCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check every setting, without opening anything", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := a.settings(cmd, false)
			if err != nil {
				return err
			}
			if err := conf.check(); err != nil {
				return err
			}
			judge, err := newJudge(conf)
			if err != nil {
				return err
			}
			embeds, err := newEmbedder(conf, nil)
			if err != nil {
				return err
			}
			out := struct {
				OK       bool   `json:"ok"`
				Judge    string `json:"judge"`
				Embedder string `json:"embedder"`
			}{true, judge.Name(), "none"}
			if embeds != nil {
				out.Embedder = embeds.ID()
			}
			return a.show(out, func(p *printer) {
				p.line("the configuration is sound; the judge is %s, the embedder is %s", out.Judge, out.Embedder)
			})
		},
	}
}
