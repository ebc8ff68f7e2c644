package acceptance

import (
	"testing"
)

func TestErrorsNameTheProblemAndTheAttribute(t *testing.T) {
	workspace := newTerraform(t)
	workspace.apply(`
resource "shardboard_database" "first" {
  name        = "tf-errors"
  memory_size = 100000000
}
`)
	duplicate := `
resource "shardboard_database" "first" {
  name        = "tf-errors"
  memory_size = 100000000
}

resource "shardboard_database" "second" {
  name        = "tf-errors"
  memory_size = 100000000
}
`
	workspace.expectError(duplicate, "The database was not created", `name = "tf-errors"`,
		"A database with the name tf-errors already exists", "name_exists")
	workspace.expectError(`
resource "shardboard_database" "first" {
  name            = "tf-errors"
  memory_size     = 100000000
  eviction_policy = "sometimes"
}
`, "The database was not changed", `eviction_policy = "sometimes"`, "eviction_policy must be one of volatile-lru")
	workspace.expectError(`
resource "shardboard_user" "app" {
  name        = "tf-app"
  role_uids   = []
  password    = "one"
  password_wo = "two"
}
`, "password and password_wo exclude each other", "password_wo_version is missing")
	workspace.configure(`
resource "shardboard_database" "first" {
  name        = "tf-errors"
  memory_size = 100000000
}
`)
	workspace.variables = []string{"SHARDBOARD_PASSWORD=wrong"}
	output, code := workspace.run("plan")
	if code != 1 {
		t.Errorf("a plan with a wrong password returned %d", code)
	}
	expectTexts(t, output, "status 401", "invalid_credentials")
	workspace.variables = []string{"SHARDBOARD_CA_FILE="}
	output, _ = workspace.run("plan")
	expectTexts(t, output, "is signed by an unknown CA: set ca_certificate")
	workspace.variables = []string{"SHARDBOARD_URL="}
	output, _ = workspace.run("plan")
	expectTexts(t, output, "The configuration of the provider is invalid", "the URL must start with https://")
	workspace.variables = nil
}
