package provider

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const top = "../.."

// documented is an attribute of any schema.
type documented interface {
	GetMarkdownDescription() string
	GetType() attr.Type
	IsRequired() bool
	IsOptional() bool
	IsSensitive() bool
}

// TestDocumentationIsUpToDate writes the pages if UPDATE_DOCS is set.
func TestDocumentationIsUpToDate(t *testing.T) {
	pages := map[string]string{"docs/index.md": indexPage()}
	for _, create := range (&shardboard{}).Resources(context.Background()) {
		declared := create().(*objectResource)
		pages["docs/resources/"+declared.name+".md"] = resourcePage(t, declared)
	}
	for _, create := range (&shardboard{}).DataSources(context.Background()) {
		name, page := sourcePage(t, create())
		pages["docs/data-sources/"+name+".md"] = page
	}
	for name, want := range pages {
		file := filepath.Join(top, name)
		if os.Getenv("UPDATE_DOCS") != "" {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if found, err := os.ReadFile(file); err != nil || string(found) != want {
			t.Errorf("%s is out of date: run UPDATE_DOCS=1 go test ./internal/provider (%v)", name, err)
		}
	}
}

func indexPage() string {
	var reply provider.SchemaResponse
	(&shardboard{}).Schema(context.Background(), provider.SchemaRequest{}, &reply)
	attributes := map[string]documented{}
	for name, each := range reply.Schema.Attributes {
		attributes[name] = each
	}
	return "# Provider shardboard\n\n" + reply.Schema.MarkdownDescription + "\n\n" + table("Arguments", attributes)
}

func resourcePage(t *testing.T, declared *objectResource) string {
	t.Helper()
	attributes, members := map[string]documented{}, map[string]documented{}
	var reply resource.SchemaResponse
	declared.Schema(context.Background(), resource.SchemaRequest{}, &reply)
	for name, each := range reply.Schema.Attributes {
		attributes[name] = each
	}
	for _, each := range declared.fields {
		if each.usage == computed {
			members[each.name] = attributes[each.name]
			delete(attributes, each.name)
		}
	}
	page := heading("shardboard_"+declared.name, reply.Schema.MarkdownDescription) +
		example(t, "resources", declared.name) + table("Arguments", attributes)
	if len(members) > 0 {
		page += "\n" + table("Read-only attributes", members)
	}
	return page + "\n## Import\n\n```bash\nterraform import shardboard_" + declared.name + ".NAME " + importID(declared.object) +
		"\n```\n"
}

func importID(declared object) string {
	switch {
	case declared.settings == nil:
		return "UID   # or the " + strings.Join(declared.names, " or ") + ", or name=NAME for names of digits"
	case declared.settings.owner != nil:
		return "UID   # of the " + declared.settings.owner.noun + ", or its name"
	}
	return "cluster"
}

func sourcePage(t *testing.T, source datasource.DataSource) (string, string) {
	t.Helper()
	var metadata datasource.MetadataResponse
	source.Metadata(context.Background(), datasource.MetadataRequest{}, &metadata)
	var reply datasource.SchemaResponse
	source.Schema(context.Background(), datasource.SchemaRequest{}, &reply)
	name, attributes := strings.TrimPrefix(metadata.TypeName, "_"), map[string]documented{}
	for each, attribute := range reply.Schema.Attributes {
		attributes[each] = attribute
	}
	page := heading("shardboard_"+name+" (data source)", reply.Schema.MarkdownDescription) +
		example(t, "data-sources", name) + table("Attributes", attributes)
	if list, isList := source.(*listSource); isList && list.list != "" {
		members := map[string]documented{}
		for _, each := range list.fields {
			members[each.name] = each.sourceAttribute()
		}
		page += "\n" + table("Attributes of `"+list.list+"`", members)
	}
	return name, page
}

func heading(title, description string) string { return "# " + title + "\n\n" + description + "\n\n" }

func example(t *testing.T, kind, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(top, "examples", kind, name+".tf"))
	if err != nil {
		t.Fatal(err)
	}
	return "```terraform\n" + string(content) + "```\n\n"
}

func table(title string, attributes map[string]documented) string {
	names := make([]string, 0, len(attributes))
	for name := range attributes {
		names = append(names, name)
	}
	// Required attributes come first.
	sort.Slice(names, func(i, j int) bool {
		a, b := attributes[names[i]].IsRequired(), attributes[names[j]].IsRequired()
		return a && !b || a == b && names[i] < names[j]
	})
	rows := "## " + title + "\n\n| Attribute | Type | Use | Description |\n|---|---|---|---|\n"
	for _, name := range names {
		each := attributes[name]
		rows += fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, typeName(each.GetType()), use(each), each.GetMarkdownDescription())
	}
	return rows
}

func use(attribute documented) string {
	text := "read-only"
	if attribute.IsRequired() {
		text = "required"
	} else if attribute.IsOptional() {
		text = "optional"
	}
	if attribute.IsSensitive() {
		text += ", sensitive"
	}
	return text
}

func typeName(kind attr.Type) string {
	switch kind := kind.(type) {
	case types.SetType:
		return "set of " + typeName(kind.ElemType)
	case types.ListType:
		return "list of " + typeName(kind.ElemType)
	case types.MapType:
		return "map of " + typeName(kind.ElemType)
	case types.ObjectType:
		if len(kind.AttrTypes) > 3 {
			return "objects"
		}
		members := make([]string, 0, len(kind.AttrTypes))
		for name, each := range kind.AttrTypes {
			members = append(members, name+": "+typeName(each))
		}
		sort.Strings(members)
		return "{" + strings.Join(members, ", ") + "}"
	}
	return map[attr.Type]string{
		types.StringType: "string", types.Int64Type: "number", types.BoolType: "bool",
	}[kind]
}
