// Package acceptance tests the provider against a running console, with the terraform program.
//
// The console is selected by the environment variables of the provider. The tests are skipped without them.
package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

// binDirectory contains the provider that TestMain has built.
var binDirectory string

func TestMain(m *testing.M) {
	if os.Getenv("SHARDBOARD_URL") == "" {
		fmt.Println("Skipped: SHARDBOARD_URL is not set, so there is no console to test with.")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if _, err := exec.LookPath("terraform"); err != nil {
		fmt.Println("The terraform program is not installed. Only tests over the plugin protocol run.")
		return m.Run()
	}
	directory, err := os.MkdirTemp("", "provider")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	binDirectory = directory
	build := exec.Command("go", "build", "-o", directory, "../")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Println(string(output))
		return 1
	}
	return m.Run()
}

// api returns a client with the credentials of the environment, to change objects outside Terraform.
func api(t *testing.T) *client.Client {
	t.Helper()
	certificate, err := os.ReadFile(os.Getenv("SHARDBOARD_CA_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	created, err := client.New(client.Options{
		URL: os.Getenv("SHARDBOARD_URL"), Username: os.Getenv("SHARDBOARD_USERNAME"),
		Password: os.Getenv("SHARDBOARD_PASSWORD"), CACertificate: certificate, UserAgent: "acceptance-test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// terraform is a directory with a configuration and its state.
type terraform struct {
	t         *testing.T
	directory string
	variables []string
}

const header = `
terraform {
  required_providers {
    shardboard = { source = "shardboard/shardboard" }
  }
}
`

// newTerraform returns an empty directory. What it creates is destroyed at the end of the test.
func newTerraform(t *testing.T) *terraform {
	t.Helper()
	if binDirectory == "" {
		t.Skip("The terraform program is not installed.")
	}
	workspace := &terraform{t: t, directory: t.TempDir()}
	overrides := fmt.Sprintf("provider_installation {\n  dev_overrides { %q = %q }\n  direct {}\n}\n",
		"shardboard/shardboard", binDirectory)
	workspace.write("rc", overrides)
	t.Cleanup(func() {
		if workspace.has("main.tf") {
			workspace.must("destroy", "-auto-approve")
		}
	})
	return workspace
}

func (w *terraform) has(name string) bool {
	_, err := os.Stat(filepath.Join(w.directory, name))
	return err == nil
}

func (w *terraform) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.directory, name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// configure replaces the configuration.
func (w *terraform) configure(configuration string) {
	w.t.Helper()
	if !strings.Contains(configuration, "required_providers") {
		configuration = header + configuration
	}
	w.write("main.tf", configuration)
}

// run executes a command and returns its output and exit code.
func (w *terraform) run(arguments ...string) (string, int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if arguments[0] != "show" && arguments[0] != "output" && arguments[0] != "state" {
		arguments = append(arguments[:1:1], append([]string{"-input=false"}, arguments[1:]...)...)
	}
	command := exec.CommandContext(ctx, "terraform", append(arguments, "-no-color")...)
	command.Dir = w.directory
	command.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(w.directory, "rc"),
		"CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	command.Env = append(command.Env, w.variables...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return output.String(), command.ProcessState.ExitCode()
}

// must executes a command that has to succeed.
func (w *terraform) must(arguments ...string) string {
	w.t.Helper()
	output, code := w.run(arguments...)
	if code != 0 {
		w.t.Fatalf("terraform %v returned %d:\n%s", arguments, code, output)
	}
	return output
}

// apply changes the configuration and applies it. A plan must contain no difference then.
func (w *terraform) apply(configuration string) string {
	w.t.Helper()
	w.configure(configuration)
	output := w.must("apply", "-auto-approve")
	w.expectNoChanges()
	return output
}

func (w *terraform) expectNoChanges() {
	w.t.Helper()
	if output, code := w.run("plan", "-detailed-exitcode"); code != 0 {
		w.t.Fatalf("the plan contains changes after apply (exit code %d):\n%s", code, output)
	}
}

// expectChange returns the output of a plan that must contain a change.
func (w *terraform) expectChange(texts ...string) {
	w.t.Helper()
	output, code := w.run("plan", "-detailed-exitcode")
	if code != 2 {
		w.t.Fatalf("the plan contains no change (exit code %d):\n%s", code, output)
	}
	expectTexts(w.t, output, texts...)
}

// expectError applies a configuration that must fail with these texts.
func (w *terraform) expectError(configuration string, texts ...string) {
	w.t.Helper()
	w.configure(configuration)
	output, code := w.run("apply", "-auto-approve")
	if code == 0 {
		w.t.Fatalf("the configuration was applied:\n%s", output)
	}
	expectTexts(w.t, output, texts...)
}

// expectTexts ignores line breaks and frames, because terraform wraps messages.
func expectTexts(t *testing.T, output string, texts ...string) {
	t.Helper()
	plain := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)), " ")
	for _, text := range texts {
		if !strings.Contains(plain, text) {
			t.Errorf("%q is missing in:\n%s", text, output)
		}
	}
}

// values returns the attributes of a resource in the state, such as `shardboard_database.orders`.
func (w *terraform) values(address string) map[string]any {
	w.t.Helper()
	var state struct {
		Values struct {
			Root struct {
				Resources []struct {
					Address string
					Values  map[string]any
				}
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(w.must("show", "-json")), &state); err != nil {
		w.t.Fatal(err)
	}
	for _, each := range state.Values.Root.Resources {
		if each.Address == address {
			return each.Values
		}
	}
	w.t.Fatalf("%s is not in the state", address)
	return nil
}
