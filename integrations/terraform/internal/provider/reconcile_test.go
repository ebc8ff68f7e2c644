package provider

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

func TestRulesOfACLsAreComparedByMeaning(t *testing.T) {
	for _, each := range []struct {
		prior, current string
		isSame         bool
	}{
		{"+@READ  ~Cache:*", "+@read ~Cache:*", true},
		{"( +get ~a ) +@all", "(+get ~a) +@all", true},
		{"+@read ~Cache:*", "+@read ~cache:*", false},
		{"+@read ~*", "+@read ~* &*", false},
		{"+@read", "-@read", false},
	} {
		prior, current := types.StringValue(each.prior), types.StringValue(each.current)
		if isSame := reconcileACL(prior, current).Equal(prior); isSame != each.isSame {
			t.Errorf("%q and %q: %v", each.prior, each.current, isSame)
		}
	}
}

func TestAlertsThatAreNotListedAreIgnored(t *testing.T) {
	field := alertsField("", nil, "")
	prior := attributes{}
	read := func(reply string) (types.Map, error) {
		var decoded client.Object
		if err := json.Unmarshal([]byte(reply), &decoded); err != nil {
			t.Fatal(err)
		}
		value, err := field.fromAPI(prior, client.Object{"alerts": decoded})
		if err != nil {
			return types.Map{}, err
		}
		return value.(types.Map), nil
	}
	listed, err := read(`{"bdb_size": {"enabled": true, "threshold": "80.0"}, "node_failed": {"enabled": true, "threshold": null}}`)
	if err != nil {
		t.Fatal(err)
	}
	prior["alerts"] = listed
	same, err := read(`{"bdb_size": {"enabled": true, "threshold": "80"}, "node_failed": true, "node_memory": {"enabled": true, "threshold": "1"}}`)
	if err != nil || !same.Equal(listed) {
		t.Errorf("%v, %v", same, err)
	}
	changed, err := read(`{"bdb_size": {"enabled": true, "threshold": "70"}, "node_failed": true}`)
	if err != nil || changed.Equal(listed) {
		t.Errorf("%v, %v", changed, err)
	}
}

func TestValuesOfOtherTypesAreErrors(t *testing.T) {
	for _, value := range []any{"text", json.Number("1.5"), true, []any{}, client.Object{}} {
		if read, err := fromJSON(types.Int64Type, value); err == nil {
			t.Errorf("%v was read as %v", value, read)
		}
	}
	if _, err := fromJSON(types.SetType{ElemType: types.StringType}, client.Object{}); err == nil {
		t.Error("an object was read as a set")
	}
}

func TestOptionalTextsAreRemovedByAnEmptyText(t *testing.T) {
	field := field{name: "ca", kind: types.StringType, usage: optional}
	declared := object{}
	declared.fields = append(declared.fields, field)
	before, after := attributes{"ca": types.StringValue("pem")}, attributes{"ca": types.StringNull()}
	if changes := declared.changes(after, before, after); changes["ca"] != "" {
		t.Errorf("%v", changes)
	}
	if value, err := field.fromAPI(after, client.Object{"ca": ""}); err != nil || !value.IsNull() {
		t.Errorf("%v, %v", value, err)
	}
}

func TestChangesThatTheAPICannotCombineAreSeparateRequests(t *testing.T) {
	for _, each := range []struct{ changes, want string }{
		{`{}`, `[]`},
		{`{"memory_size":1,"name":"a"}`, `[{"memory_size":1,"name":"a"}]`},
		{
			`{"io_threads":2,"memory_size":1,"name":"a","replication":true,"shards_count":3,"shards_placement":"dense"}`,
			`[{"name":"a","replication":true},{"shards_placement":"dense"},{"io_threads":2},{"memory_size":1,"shards_count":3}]`,
		},
	} {
		var changes client.Object
		if err := json.Unmarshal([]byte(each.changes), &changes); err != nil {
			t.Fatal(err)
		}
		if requests, err := json.Marshal(separate(changes)); err != nil || string(requests) != each.want {
			t.Errorf("%s, %v", requests, err)
		}
	}
}
