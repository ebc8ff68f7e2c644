package provider

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

// objectSource reads one object by its uid or name. Secrets are left out.
type objectSource struct {
	object
	config *config
}

var (
	_ datasource.DataSourceWithConfigure = (*objectSource)(nil)
	_ datasource.DataSourceWithConfigure = (*listSource)(nil)
)

func (o object) dataSource() datasource.DataSource {
	readable := o
	readable.fields = nil
	for _, each := range o.fields {
		if !each.isSecret && !each.isLocal {
			readable.fields = append(readable.fields, each)
		}
	}
	return &objectSource{object: readable}
}

func (s *objectSource) Metadata(
	_ context.Context, request datasource.MetadataRequest, reply *datasource.MetadataResponse,
) {
	reply.TypeName = request.ProviderTypeName + "_" + s.name
}

func (s *objectSource) Schema(_ context.Context, _ datasource.SchemaRequest, reply *datasource.SchemaResponse) {
	declared := map[string]schema.Attribute{}
	for _, each := range s.fields {
		declared[each.name] = each.sourceAttribute()
	}
	declared["uid"] = schema.Int64Attribute{
		Optional: true, Computed: true, MarkdownDescription: "Uid. Set either `uid` or `name`.",
	}
	declared["name"] = schema.StringAttribute{
		Optional: true, Computed: true, MarkdownDescription: "Name. Set either `uid` or `name`.",
	}
	reply.Schema = schema.Schema{MarkdownDescription: s.description, Attributes: declared}
}

func (s *objectSource) Configure(
	_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse,
) {
	s.config, _ = request.ProviderData.(*config)
}

func (s *objectSource) Read(ctx context.Context, request datasource.ReadRequest, reply *datasource.ReadResponse) {
	given := read(ctx, request.Config, &reply.Diagnostics)
	if reply.Diagnostics.HasError() {
		return
	}
	id, isNamed := "", isKnown(given["name"])
	switch {
	case isNamed == isKnown(given["uid"]):
		reply.Diagnostics.AddError("Ambiguous data source", "Set either uid or name.")
		return
	case isNamed:
		id = namePrefix + given["name"].(types.String).ValueString()
	default:
		id = strconv.FormatInt(given["uid"].(types.Int64).ValueInt64(), 10)
	}
	uid, err := s.find(ctx, s.config, id)
	var current client.Object
	if err == nil {
		current, err = s.get(ctx, s.config, s.pathOf(attributes{"uid": types.Int64Value(uid)}))
	}
	if err != nil {
		s.report(&reply.Diagnostics, fmt.Sprintf("The %s cannot be read", s.noun), err)
		return
	}
	state, diagnostics := s.state(nil, current)
	reply.Diagnostics.Append(diagnostics...)
	reply.Diagnostics.Append(reply.State.Set(ctx, state)...)
}

// sourceAttribute returns the declaration in data sources.
func (f field) sourceAttribute() schema.Attribute {
	switch kind := f.kind.(type) {
	case types.SetType:
		return schema.SetAttribute{ElementType: kind.ElemType, Computed: true, MarkdownDescription: f.description}
	case types.ListType:
		return schema.ListAttribute{ElementType: kind.ElemType, Computed: true, MarkdownDescription: f.description}
	case types.MapType:
		return schema.MapAttribute{ElementType: kind.ElemType, Computed: true, MarkdownDescription: f.description}
	}
	switch f.kind {
	case types.Int64Type:
		return schema.Int64Attribute{Computed: true, MarkdownDescription: f.description}
	case types.BoolType:
		return schema.BoolAttribute{Computed: true, MarkdownDescription: f.description}
	}
	return schema.StringAttribute{Computed: true, MarkdownDescription: f.description}
}

// listSource reads the cluster, or a list into one attribute.
type listSource struct {
	listing
	config *config
}

// listing declares a data source without arguments.
type listing struct {
	name        string
	path        string
	description string
	list        string  // attribute that contains all objects; empty if the API returns one object
	fields      []field // of each object
}

func (l listing) dataSource() datasource.DataSource { return &listSource{listing: l} }

// element is the type of each object.
func (l listing) element() types.ObjectType {
	kinds := map[string]attr.Type{}
	for _, each := range l.fields {
		kinds[each.name] = each.kind
	}
	return types.ObjectType{AttrTypes: kinds}
}

func (s *listSource) Metadata(
	_ context.Context, request datasource.MetadataRequest, reply *datasource.MetadataResponse,
) {
	reply.TypeName = request.ProviderTypeName + "_" + s.name
}

func (s *listSource) Schema(_ context.Context, _ datasource.SchemaRequest, reply *datasource.SchemaResponse) {
	declared := map[string]schema.Attribute{}
	for _, each := range s.fields {
		declared[each.name] = each.sourceAttribute()
	}
	if s.list != "" {
		declared = map[string]schema.Attribute{s.list: schema.ListNestedAttribute{
			Computed: true, MarkdownDescription: s.description,
			NestedObject: schema.NestedAttributeObject{Attributes: declared},
		}}
	}
	reply.Schema = schema.Schema{MarkdownDescription: s.description, Attributes: declared}
}

func (s *listSource) Configure(
	_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse,
) {
	s.config, _ = request.ProviderData.(*config)
}

func (s *listSource) Read(ctx context.Context, _ datasource.ReadRequest, reply *datasource.ReadResponse) {
	state, err := s.read(ctx, &reply.Diagnostics)
	if err != nil {
		reply.Diagnostics.AddError(fmt.Sprintf("The data source %s cannot be read", s.name), err.Error())
		return
	}
	reply.Diagnostics.Append(reply.State.Set(ctx, state)...)
}

func (s *listSource) read(ctx context.Context, diagnostics *diag.Diagnostics) (attr.Value, error) {
	shape := object{fields: s.fields}
	if s.list == "" {
		found, err := s.config.client.Get(ctx, s.path)
		if err != nil {
			return nil, err
		}
		state, errors := shape.state(nil, found)
		diagnostics.Append(errors...)
		return state, nil
	}
	found, err := s.config.client.List(ctx, s.path)
	if err != nil {
		return nil, err
	}
	elements := make([]attr.Value, 0, len(found))
	for _, each := range found {
		element, errors := shape.state(nil, each)
		diagnostics.Append(errors...)
		elements = append(elements, element)
	}
	list := types.ListValueMust(s.element(), elements)
	return types.ObjectValueMust(map[string]attr.Type{s.list: list.Type(ctx)}, attributes{s.list: list}), nil
}
