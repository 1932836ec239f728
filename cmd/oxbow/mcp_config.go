package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/engine"
)

// mcpClient is a client whose configuration is known.
type mcpClient struct {
	file  string   // where it stands
	list  string   // under which name servers are listed
	typed []string // the types that an entry says of itself
	// variable is how the file names what stands in the environment.
	variable func(name string) string
}

var mcpClients = map[string]mcpClient{
	"claude": {"the .mcp.json of a project (Claude Code), or claude_desktop_config.json (Claude Desktop: Settings, Developer, Edit Config; not for --url)", "mcpServers", []string{"http"},
		func(name string) string { return "${" + name + "}" }},
	"cursor": {".cursor/mcp.json of a project, or of your home folder", "mcpServers", nil, func(name string) string { return "${env:" + name + "}" }},
	"vscode": {".vscode/mcp.json of a project", "servers", []string{"stdio", "http"}, func(name string) string { return "${env:" + name + "}" }},
}

// mcpServer is an entry of a client's file, for either transport.
type mcpServer struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

func mcpConfigCommand(a *app) *cobra.Command {
	var scope, address, keyFrom string
	var waterfall bool
	cmd := &cobra.Command{
		Use: "mcp-config claude|cursor|vscode", Short: "Print what connects a client to oxbow mcp, or to oxbow serve", Args: exactly("the name of a client"),
		Long: `Print what to write into a client's configuration: a server that the client starts
itself (oxbow mcp), or with --url the one that oxbow serve answers with at /mcp, which
clients of several machines share and which is the way to a Postgres database. A key
stays out of the file: --key-from names the variable of the environment that holds it.

A client starts oxbow mcp in a folder and with an environment of its own: what should
hold there beside the flags belongs into the configuration file.`,
		Example: `  oxbow mcp-config claude --scope user:ada
  oxbow mcp-config vscode --url http://127.0.0.1:7437/mcp --key-from OXBOW_KEY`,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, ok := mcpClients[args[0]]
			if !ok {
				return usage("there is no client %q: use claude, cursor or vscode", args[0])
			}
			flags := cmd.Flags()
			entry, err := mcpServer{}, error(nil)
			switch {
			case address != "" && (flags.Changed("scope") || flags.Changed("memory-recall")):
				err = usage("--scope and --memory-recall hold where the server starts: give them to oxbow serve, and leave them out beside --url")
			case address != "":
				entry, err = client.remote(address, keyFrom)
			case keyFrom != "":
				err = usage("--key-from goes with --url: oxbow mcp asks for no key")
			default:
				entry, err = a.started(cmd, scope, waterfall)
			}
			if err != nil {
				return err
			}
			if !slices.Contains(client.typed, entry.Type) {
				entry.Type = ""
			}
			a.say("write this into %s:", client.file)
			enc := json.NewEncoder(a.out)
			enc.SetIndent("", "  ")
			enc.SetEscapeHTML(false)
			return enc.Encode(map[string]any{client.list: map[string]any{"oxbow": entry}})
		},
	}
	mcpFlags(cmd, &scope, &waterfall)
	cmd.Flags().StringVar(&address, "url", "", "connect to a server at this address, such as http://127.0.0.1:7437/mcp, and start none")
	cmd.Flags().StringVar(&keyFrom, "key-from", "", "the variable of the environment that holds the key for --url; without it none is sent")
	return cmd
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// remote is the entry of a server that answers already.
func (c mcpClient) remote(address, keyFrom string) (mcpServer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return mcpServer{}, usage("--url is no address of a server: write it as http://127.0.0.1:7437/mcp, with the key in the environment and --key-from")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/mcp"
	}
	s := mcpServer{Type: "http", URL: u.String()}
	if keyFrom != "" {
		if strings.HasPrefix(keyFrom, engine.SecretPrefix) || !variableName.MatchString(keyFrom) { // somebody's key, perhaps: not repeated
			return mcpServer{}, usage("--key-from takes the name of a variable, such as OXBOW_KEY, and not the key")
		}
		s.Headers = map[string]string{"Authorization": "Bearer " + c.variable(keyFrom)}
	}
	return s, nil
}

// started is the entry of a server that the client starts. What was said by flags
// holds there too.
func (a *app) started(cmd *cobra.Command, scope string, waterfall bool) (mcpServer, error) {
	conf, err := a.checkedSettings(cmd, false)
	if err != nil {
		return mcpServer{}, err
	}
	if isPostgres(conf.text("db")) { // its password would stand in the file
		return mcpServer{}, usage("oxbow mcp on Postgres would need its URL in the client's file: run oxbow serve, and repeat with --url http://127.0.0.1:7437/mcp")
	}
	self, err := os.Executable()
	if err != nil {
		self = "oxbow"
	}
	s := mcpServer{Type: "stdio", Command: self, Args: []string{"mcp", "--db", absolute(conf.text("db"))}}
	if t := conf.text("tenant"); t != "default" {
		s.Args = append(s.Args, "--tenant", t)
	}
	if scope != defaultScope {
		s.Args = append(s.Args, "--scope", scope)
	}
	if waterfall {
		s.Args = append(s.Args, "--memory-recall")
	}
	if path, named := a.configPath(cmd); named {
		s.Args = append(s.Args, "--config", absolute(path))
	}
	return s, nil
}

// absolute gives a file's path from anywhere.
func absolute(db string) string {
	if path, err := filepath.Abs(db); err == nil {
		return path
	}
	return db
}
