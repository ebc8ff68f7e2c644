package acceptance

import (
	"context"
	"maps"
	"math/big"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
	"github.com/shardboard/terraform-provider-shardboard/internal/provider"
)

// plugin is the provider in this process, called as the terraform program does. Tests with it need no other program.
type plugin struct {
	t      *testing.T
	server tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse
}

func newPlugin(t *testing.T) *plugin {
	t.Helper()
	server := providerserver.NewProtocol6(provider.New("test")())()
	schema, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	p := &plugin{t: t, server: server, schema: schema}
	kind := schema.Provider.ValueType()
	reply, err := server.ConfigureProvider(context.Background(), &tfprotov6.ConfigureProviderRequest{
		Config: p.encode(kind, p.object(kind, nil)),
	})
	p.check(err, reply.Diagnostics)
	return p
}

func (p *plugin) check(err error, diagnostics []*tfprotov6.Diagnostic) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, each := range diagnostics {
		p.t.Fatalf("%s: %s", each.Summary, each.Detail)
	}
}

func (p *plugin) kind(resource string) tftypes.Type {
	return p.schema.ResourceSchemas[resource].ValueType()
}

// object returns a value of the type whose other attributes are null.
func (p *plugin) object(kind tftypes.Type, values map[string]tftypes.Value) tftypes.Value {
	all := map[string]tftypes.Value{}
	for name, each := range kind.(tftypes.Object).AttributeTypes {
		all[name] = tftypes.NewValue(each, nil)
		if value, isSet := values[name]; isSet {
			all[name] = value
		}
	}
	return tftypes.NewValue(kind, all)
}

func (p *plugin) encode(kind tftypes.Type, value tftypes.Value) *tfprotov6.DynamicValue {
	p.t.Helper()
	encoded, err := tfprotov6.NewDynamicValue(kind, value)
	if err != nil {
		p.t.Fatal(err)
	}
	return &encoded
}

func (p *plugin) decode(kind tftypes.Type, encoded *tfprotov6.DynamicValue) tftypes.Value {
	p.t.Helper()
	value, err := encoded.Unmarshal(kind)
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

func members(t *testing.T, value tftypes.Value) map[string]tftypes.Value {
	t.Helper()
	var all map[string]tftypes.Value
	if err := value.As(&all); err != nil {
		t.Fatal(err)
	}
	return maps.Clone(all) // As returns the map of the value itself
}

// plan returns the planned state. Attributes that the configuration lacks have their prior value in the proposal.
func (p *plugin) plan(resource string, prior, configuration tftypes.Value) *tfprotov6.PlanResourceChangeResponse {
	p.t.Helper()
	kind, proposal := p.kind(resource), configuration
	if !prior.IsNull() && !configuration.IsNull() {
		proposed := members(p.t, configuration)
		for _, each := range p.schema.ResourceSchemas[resource].Block.Attributes {
			if each.Computed && proposed[each.Name].IsNull() {
				proposed[each.Name] = members(p.t, prior)[each.Name]
			}
		}
		proposal = tftypes.NewValue(kind, proposed)
	}
	reply, err := p.server.PlanResourceChange(context.Background(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, PriorState: p.encode(kind, prior), Config: p.encode(kind, configuration),
		ProposedNewState: p.encode(kind, proposal),
	})
	p.check(err, reply.Diagnostics)
	return reply
}

// apply plans and applies a configuration, and checks that another plan contains no change.
func (p *plugin) apply(resource string, prior, configuration tftypes.Value) tftypes.Value {
	p.t.Helper()
	kind, planned := p.kind(resource), p.plan(resource, prior, configuration)
	if len(planned.RequiresReplace) > 0 {
		p.t.Fatalf("the change replaces the object because of %v", planned.RequiresReplace)
	}
	reply, err := p.server.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resource, PriorState: p.encode(kind, prior), Config: p.encode(kind, configuration),
		PlannedState: planned.PlannedState, PlannedPrivate: planned.PlannedPrivate,
	})
	p.check(err, reply.Diagnostics)
	state := p.decode(kind, reply.NewState)
	if !configuration.IsNull() {
		p.expectNoChanges(resource, p.read(resource, state), configuration)
	}
	return state
}

func (p *plugin) expectNoChanges(resource string, state, configuration tftypes.Value) {
	p.t.Helper()
	planned := p.decode(p.kind(resource), p.plan(resource, state, configuration).PlannedState)
	if differences, err := state.Diff(planned); err != nil || len(differences) > 0 {
		p.t.Fatalf("the plan contains changes: %v, %v", differences, err)
	}
}

func (p *plugin) read(resource string, state tftypes.Value) tftypes.Value {
	p.t.Helper()
	kind := p.kind(resource)
	reply, err := p.server.ReadResource(context.Background(), &tfprotov6.ReadResourceRequest{
		TypeName: resource, CurrentState: p.encode(kind, state),
	})
	p.check(err, reply.Diagnostics)
	return p.decode(kind, reply.NewState)
}

func (p *plugin) importState(resource, id string) tftypes.Value {
	p.t.Helper()
	reply, err := p.server.ImportResourceState(context.Background(), &tfprotov6.ImportResourceStateRequest{
		TypeName: resource, ID: id,
	})
	p.check(err, reply.Diagnostics)
	return p.read(resource, p.decode(p.kind(resource), reply.ImportedResources[0].State))
}

func text(value string) tftypes.Value { return tftypes.NewValue(tftypes.String, value) }

func number(value int64) tftypes.Value { return tftypes.NewValue(tftypes.Number, value) }

func TestDatabaseOverThePluginProtocol(t *testing.T) {
	p, console, ctx := newPlugin(t), api(t), context.Background()
	const resource = "shardboard_database"
	kind := p.kind(resource)
	none := tftypes.NewValue(kind, nil)
	values := map[string]tftypes.Value{"name": text("tf-protocol"), "memory_size": number(100_000_000)}
	state := p.apply(resource, none, p.object(kind, values))
	path := "/v1/bdbs/" + uidOf(t, state)
	t.Cleanup(func() { _ = console.Delete(ctx, path) })

	values["memory_size"], values["data_persistence"] = number(120_000_000), text("aof")
	state = p.apply(resource, state, p.object(kind, values))

	if _, err := console.Put(ctx, path+"?wait=30", client.Object{"eviction_policy": "noeviction"}); err != nil {
		t.Fatal(err)
	}
	drifted := p.read(resource, state)
	planned := p.decode(kind, p.plan(resource, drifted, p.object(kind, values)).PlannedState)
	if differences, err := drifted.Diff(planned); err != nil || len(differences) == 0 {
		t.Errorf("the change outside Terraform is not detected: %v", err)
	}
	state = p.apply(resource, drifted, p.object(kind, values))
	p.expectNoChanges(resource, p.importState(resource, "tf-protocol"), p.object(kind, values))

	values["port"] = number(19_000)
	if replaced := p.plan(resource, state, p.object(kind, values)).RequiresReplace; len(replaced) != 1 {
		t.Errorf("another port does not replace the database: %v", replaced)
	}
	p.apply(resource, state, none)
	if left := p.read(resource, state); !left.IsNull() {
		t.Errorf("the database was not deleted: %v", left)
	}
}

func uidOf(t *testing.T, state tftypes.Value) string {
	t.Helper()
	var uid *big.Float
	if err := members(t, state)["uid"].As(&uid); err != nil {
		t.Fatal(err)
	}
	return uid.Text('f', 0)
}
