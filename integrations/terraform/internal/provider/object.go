package provider

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

// object declares a resource: its attributes, and where the REST API has it.
type object struct {
	name        string // of the resource, without the name of the provider
	noun        string // in messages
	path        string // of the list in the REST API, or of the settings
	description string
	names       []string // API fields that identify an object in `terraform import`
	fields      []field
	// prepare completes the body of a request that creates an object.
	prepare func(body client.Object)
	// update sends changed fields, if one PUT is not enough.
	update func(ctx context.Context, config *config, path string, changes client.Object) error
	// settle waits until the object in a reply has its requested state, and returns that.
	settle func(ctx context.Context, config *config, path string, reply client.Object) (client.Object, error)
	// awaitDeletion waits until the object no longer exists.
	awaitDeletion func(ctx context.Context, config *config, path string) error
	// settings are always there: Terraform changes them, and stops managing them on destroy.
	settings *settings
}

// settings describes objects that are neither created nor deleted.
type settings struct {
	owner  *object // of settings that each object has, such as the alerts of databases; nil if the cluster has them
	member string  // field that stands for the body and the reply as a whole; empty if they contain the fields
	isPost bool    // the API changes them by POST
}

type attributes = map[string]attr.Value

func (o object) schema() schema.Schema {
	declared := make(map[string]schema.Attribute, len(o.fields))
	for _, each := range o.fields {
		declared[each.name] = each.attribute()
	}
	return schema.Schema{MarkdownDescription: o.description, Attributes: declared}
}

// creation returns the body of a request that creates an object.
func (o object) creation(plan, configuration attributes) client.Object {
	body := client.Object{}
	for _, each := range o.fields {
		value := plan[each.name]
		if each.isSecret && isKnown(configuration[writeOnlyName(each.name)]) {
			value = configuration[writeOnlyName(each.name)]
		}
		isOmitted := each.isLocal || each.usage == computed || each.isOmittedIfEmpty && value.Equal(each.fallback)
		if !isOmitted && isKnown(value) {
			body[each.apiName()] = each.toAPI(value)
		}
	}
	if o.prepare != nil {
		o.prepare(body)
	}
	return body
}

// changes returns the fields whose planned value differs from the state.
func (o object) changes(plan, state, configuration attributes) client.Object {
	changed := client.Object{}
	for _, each := range o.fields {
		if each.isLocal || each.usage == computed {
			continue
		}
		value, version := plan[each.name], versionName(each.name)
		isChanged := !value.Equal(state[each.name])
		if each.isSecret {
			isChanged = isChanged || !plan[version].Equal(state[version])
			if written := configuration[writeOnlyName(each.name)]; isKnown(written) {
				value = written
			}
		}
		if !isChanged || value.IsUnknown() {
			continue
		}
		if value.IsNull() {
			changed[each.apiName()] = "" // only optional texts can be null
		} else {
			changed[each.apiName()] = each.toAPI(value)
		}
	}
	return changed
}

// state returns the attributes of an object of the REST API. Fields that the reply lacks keep their prior value.
func (o object) state(prior attributes, reply client.Object) (types.Object, diag.Diagnostics) {
	var diagnostics diag.Diagnostics
	values, kinds := attributes{}, map[string]attr.Type{}
	for _, each := range o.fields {
		value, err := each.fromAPI(prior, reply)
		if err != nil {
			detail := fmt.Sprintf("%s in the reply of the console: %s", each.apiName(), err)
			diagnostics.AddAttributeError(each.root(), "Unexpected reply", detail)
			value = nullOf(each.kind)
		}
		values[each.name], kinds[each.name] = value, each.kind
	}
	return types.ObjectValueMust(kinds, values), diagnostics
}

func (f field) toAPI(value attr.Value) any {
	if f.encode != nil {
		return f.encode(toJSON(value))
	}
	return toJSON(value)
}

func (f field) fromAPI(prior attributes, reply client.Object) (attr.Value, error) {
	value, isReturned := reply[f.apiName()]
	switch {
	case f.isWriteOnly, f.isSecret && isKnown(prior[versionName(f.name)]), f.presence != "" && reply[f.presence] == false:
		return nullOf(f.kind), nil
	case !isReturned || f.isLocal:
		if isKnown(prior[f.name]) {
			return prior[f.name], nil
		}
		return nullOf(f.kind), nil
	case f.usage == optional && f.fallback == nil && value == "":
		return nullOf(f.kind), nil
	}
	if f.decode != nil {
		value = f.decode(value)
	}
	current, err := fromJSON(f.kind, value)
	if err == nil && f.reconcile != nil && isKnown(prior[f.name]) {
		return f.reconcile(prior[f.name], current), nil
	}
	return current, err
}

// report adds an error to the diagnostics, at the attribute that the console rejected.
func (o object) report(diagnostics *diag.Diagnostics, summary string, err error) {
	rejected := client.FieldOf(err)
	for _, each := range o.fields {
		if rejected != "" && each.apiName() == rejected && !each.isLocal {
			diagnostics.AddAttributeError(each.root(), summary, err.Error())
			return
		}
	}
	diagnostics.AddError(summary, err.Error())
}

// pathOf returns the path of the object with these attributes.
func (o object) pathOf(values attributes) string {
	switch {
	case o.settings == nil:
		return fmt.Sprintf("%s/%d", o.path, toJSON(values["uid"]))
	case o.settings.owner != nil:
		return fmt.Sprintf("%s/%d", o.path, toJSON(values[o.settings.owner.uidName()]))
	}
	return o.path
}

// uidName is the attribute of other resources that contains the uid of an object.
func (o object) uidName() string { return o.name + "_uid" }

func (o object) get(ctx context.Context, config *config, path string) (client.Object, error) {
	reply, err := config.client.Get(ctx, path)
	return o.wrap(reply), err
}

// put sends changed fields.
func (o object) put(ctx context.Context, config *config, path string, changes client.Object) error {
	if len(changes) == 0 {
		return nil
	}
	if o.update != nil {
		return o.update(ctx, config, path, changes)
	}
	send := config.client.Put
	if o.settings != nil && o.settings.isPost {
		send = config.client.Post
	}
	if o.settings != nil && o.settings.member != "" {
		changes, _ = changes[o.settings.member].(client.Object)
	}
	_, err := send(ctx, path, changes)
	return err
}

func (o object) wrap(reply client.Object) client.Object {
	if reply != nil && o.settings != nil && o.settings.member != "" {
		return client.Object{o.settings.member: reply}
	}
	return reply
}

// getter is a configuration, plan, or state of Terraform.
type getter interface {
	Get(ctx context.Context, target any) diag.Diagnostics
}

func read(ctx context.Context, source getter, diagnostics *diag.Diagnostics) attributes {
	var value types.Object
	diagnostics.Append(source.Get(ctx, &value)...)
	return maps.Clone(value.Attributes())
}
