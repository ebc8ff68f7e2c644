package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

// objectResource creates, reads, changes, and deletes objects of one kind.
type objectResource struct {
	object
	config *config
}

var (
	_ resource.ResourceWithConfigure      = (*objectResource)(nil)
	_ resource.ResourceWithImportState    = (*objectResource)(nil)
	_ resource.ResourceWithValidateConfig = (*objectResource)(nil)
)

func (o object) resource() resource.Resource { return &objectResource{object: o} }

func (r *objectResource) Metadata(
	_ context.Context, request resource.MetadataRequest, reply *resource.MetadataResponse,
) {
	reply.TypeName = request.ProviderTypeName + "_" + r.name
}

func (r *objectResource) Schema(_ context.Context, _ resource.SchemaRequest, reply *resource.SchemaResponse) {
	reply.Schema = r.schema()
}

func (r *objectResource) Configure(
	_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse,
) {
	r.config, _ = request.ProviderData.(*config)
}

func (r *objectResource) ValidateConfig(
	ctx context.Context, request resource.ValidateConfigRequest, reply *resource.ValidateConfigResponse,
) {
	configuration := read(ctx, request.Config, &reply.Diagnostics)
	for _, each := range r.fields {
		name, written, version := each.name, writeOnlyName(each.name), versionName(each.name)
		if !each.isSecret || !isKnown(configuration[written]) {
			continue
		}
		if isKnown(configuration[name]) {
			detail := fmt.Sprintf("%s and %s exclude each other. Remove one of them.", name, written)
			reply.Diagnostics.AddAttributeError(path.Root(written), "Two values of one secret", detail)
		}
		if configuration[version].IsNull() {
			detail := fmt.Sprintf("%s is missing. Set it to 1, and increase it when you change %s.", version, written)
			reply.Diagnostics.AddAttributeError(path.Root(version), "Missing version", detail)
		}
	}
}

func (r *objectResource) Create(ctx context.Context, request resource.CreateRequest, reply *resource.CreateResponse) {
	plan := read(ctx, request.Plan, &reply.Diagnostics)
	configuration := read(ctx, request.Config, &reply.Diagnostics)
	if reply.Diagnostics.HasError() {
		return
	}
	if r.settings != nil {
		r.adopt(ctx, plan, configuration, reply)
		return
	}
	summary := fmt.Sprintf("The %s was not created", r.noun)
	created, err := r.config.client.Post(ctx, r.path, r.creation(plan, configuration))
	if err != nil {
		r.report(&reply.Diagnostics, summary, err)
		return
	}
	// Store the uid before waiting: an object whose creation fails later must not be lost.
	state := r.store(ctx, plan, created, &reply.State, &reply.Diagnostics)
	if r.settle == nil || reply.Diagnostics.HasError() {
		return
	}
	settled, err := r.settle(ctx, r.config, r.pathOf(state), created)
	if err != nil {
		r.report(&reply.Diagnostics, summary, err)
		return
	}
	r.store(ctx, plan, settled, &reply.State, &reply.Diagnostics)
}

// adopt sends all configured settings.
func (r *objectResource) adopt(
	ctx context.Context, plan, configuration attributes, reply *resource.CreateResponse,
) {
	where := r.pathOf(plan)
	err := r.put(ctx, r.config, where, r.creation(plan, configuration))
	var current client.Object
	if err == nil {
		current, err = r.get(ctx, r.config, where)
	}
	if err != nil {
		r.report(&reply.Diagnostics, fmt.Sprintf("The %s cannot be changed", r.noun), err)
		return
	}
	r.store(ctx, plan, current, &reply.State, &reply.Diagnostics)
}

// store writes an object of the REST API to the state, and returns its attributes.
func (r *objectResource) store(
	ctx context.Context, prior attributes, current client.Object, state *tfsdk.State, diagnostics *diag.Diagnostics,
) attributes {
	value, errors := r.state(prior, current)
	diagnostics.Append(errors...)
	diagnostics.Append(state.Set(ctx, value)...)
	return value.Attributes()
}

func (r *objectResource) Read(ctx context.Context, request resource.ReadRequest, reply *resource.ReadResponse) {
	prior := read(ctx, request.State, &reply.Diagnostics)
	if reply.Diagnostics.HasError() {
		return
	}
	current, err := r.get(ctx, r.config, r.pathOf(prior))
	if client.IsNotFound(err) {
		reply.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		r.report(&reply.Diagnostics, fmt.Sprintf("The %s cannot be read", r.noun), err)
		return
	}
	r.store(ctx, prior, current, &reply.State, &reply.Diagnostics)
}

func (r *objectResource) Update(ctx context.Context, request resource.UpdateRequest, reply *resource.UpdateResponse) {
	plan := read(ctx, request.Plan, &reply.Diagnostics)
	prior := read(ctx, request.State, &reply.Diagnostics)
	configuration := read(ctx, request.Config, &reply.Diagnostics)
	if reply.Diagnostics.HasError() {
		return
	}
	where := r.pathOf(prior)
	if err := r.put(ctx, r.config, where, r.changes(plan, prior, configuration)); err != nil {
		r.report(&reply.Diagnostics, fmt.Sprintf("The %s was not changed", r.noun), err)
		plan = prior // part of the changes can have been applied
	}
	current, err := r.get(ctx, r.config, where)
	if err != nil {
		r.report(&reply.Diagnostics, fmt.Sprintf("The %s cannot be read", r.noun), err)
		return
	}
	r.store(ctx, plan, current, &reply.State, &reply.Diagnostics)
}

func (r *objectResource) Delete(ctx context.Context, request resource.DeleteRequest, reply *resource.DeleteResponse) {
	prior := read(ctx, request.State, &reply.Diagnostics)
	if reply.Diagnostics.HasError() {
		return
	}
	if r.settings != nil {
		return
	}
	where := r.pathOf(prior)
	err := r.config.client.Delete(ctx, where)
	if err == nil && r.awaitDeletion != nil {
		err = r.awaitDeletion(ctx, r.config, where)
	}
	if err != nil && !client.IsNotFound(err) {
		r.report(&reply.Diagnostics, fmt.Sprintf("The %s was not deleted", r.noun), err)
	}
}
