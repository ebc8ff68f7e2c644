package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// variables are the values of the variables in the examples.
var variables = []string{
	"TF_VAR_orders_password=password-of-orders",
	"TF_VAR_reporting_password=password-of-reporting",
	"TF_VAR_pager_secret=secret-of-the-pager",
}

func TestExamplesOfTheDocumentationWork(t *testing.T) {
	workspace := newTerraform(t)
	files, err := filepath.Glob("../examples/*/*.tf")
	if err != nil || len(files) < 15 {
		t.Fatalf("examples %v, %v", files, err)
	}
	var configuration strings.Builder
	for _, each := range files {
		content, err := os.ReadFile(each)
		if err != nil {
			t.Fatal(err)
		}
		configuration.Write(content)
	}
	workspace.variables = variables
	workspace.apply(configuration.String())
}

func TestExampleOfTheReadmeWorks(t *testing.T) {
	workspace := newTerraform(t)
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var configuration strings.Builder
	for _, block := range regexp.MustCompile("(?s)```terraform\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		configuration.WriteString(block[1])
	}
	if !strings.Contains(configuration.String(), "required_providers") {
		t.Fatal("the README has no complete example")
	}
	workspace.variables = variables
	workspace.apply(configuration.String())
}
