// Package provider implements the Terraform provider. Resources are declared as tables of attributes.
package provider

import (
	"context"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/shardboard/terraform-provider-shardboard/internal/client"
)

// config is what resources and data sources get from the provider.
type config struct {
	client           *client.Client
	operationTimeout time.Duration
}

type shardboard struct{ version string }

// providerSettings are the attributes of the provider block.
type providerSettings struct {
	URL              types.String `tfsdk:"url"`
	Username         types.String `tfsdk:"username"`
	Password         types.String `tfsdk:"password"`
	Token            types.String `tfsdk:"token"`
	CACertificate    types.String `tfsdk:"ca_certificate"`
	Insecure         types.Bool   `tfsdk:"insecure"`
	RequestTimeout   types.String `tfsdk:"request_timeout"`
	OperationTimeout types.String `tfsdk:"operation_timeout"`
}

// New returns a function that creates the provider.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &shardboard{version: version} }
}

func (p *shardboard) Metadata(_ context.Context, _ provider.MetadataRequest, reply *provider.MetadataResponse) {
	reply.TypeName, reply.Version = "shardboard", p.version
}

func (p *shardboard) Schema(_ context.Context, _ provider.SchemaRequest, reply *provider.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description}
	}
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
	}
	reply.Schema = schema.Schema{
		MarkdownDescription: "Manages databases and access of Shardboard and of Redis Software over their REST API `/v1`.",
		Attributes: map[string]schema.Attribute{
			"url":      text("URL of the console, such as `https://console.example.org:9443`. Default: `SHARDBOARD_URL`."),
			"username": text("Username. Default: `SHARDBOARD_USERNAME`."),
			"password": secret("Password. Default: `SHARDBOARD_PASSWORD`."),
			"token": secret("Service token or JWT, instead of username and password. Default: `SHARDBOARD_TOKEN`. " +
				"Redis Software needs username and password, because its tokens expire after minutes."),
			"ca_certificate": text("CA certificate of the console in PEM format. Default: the content of the file " +
				"`SHARDBOARD_CA_FILE`, otherwise the CAs of the machine."),
			"insecure": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether to accept any certificate. Anyone who can intercept the connection " +
					"learns the credentials. For tests only.",
			},
			"request_timeout":   text("Time limit of a request, such as `30s` (default)."),
			"operation_timeout": text("Time limit for databases to become active or be deleted, such as `30m` (default)."),
		},
	}
}

func (p *shardboard) Configure(
	ctx context.Context, request provider.ConfigureRequest, reply *provider.ConfigureResponse,
) {
	var given providerSettings
	reply.Diagnostics.Append(request.Config.Get(ctx, &given)...)
	if reply.Diagnostics.HasError() {
		return
	}
	if given.URL.IsUnknown() || given.Password.IsUnknown() || given.Token.IsUnknown() || given.CACertificate.IsUnknown() {
		reply.Diagnostics.AddError("The configuration of the provider is not known yet",
			"It depends on a resource that does not exist yet. Create that resource first, with -target.")
		return
	}
	options := client.Options{
		URL:           orEnvironment(given.URL, "SHARDBOARD_URL"),
		Token:         given.Token.ValueString(),
		Username:      given.Username.ValueString(),
		Password:      given.Password.ValueString(),
		CACertificate: []byte(given.CACertificate.ValueString()),
		Insecure:      given.Insecure.ValueBool(),
		UserAgent:     "terraform-provider-shardboard/" + p.version,
	}
	if options.Token == "" && options.Username == "" && options.Password == "" {
		options.Token = os.Getenv("SHARDBOARD_TOKEN")
	}
	if options.Token == "" {
		options.Username = orEnvironment(given.Username, "SHARDBOARD_USERNAME")
		options.Password = orEnvironment(given.Password, "SHARDBOARD_PASSWORD")
	}
	if file := os.Getenv("SHARDBOARD_CA_FILE"); len(options.CACertificate) == 0 && file != "" {
		certificate, err := os.ReadFile(file)
		if err != nil {
			reply.Diagnostics.AddError("SHARDBOARD_CA_FILE cannot be read", err.Error())
			return
		}
		options.CACertificate = certificate
	}
	options.Timeout = duration(given.RequestTimeout, 30*time.Second, "request_timeout", reply)
	operationTimeout := duration(given.OperationTimeout, 30*time.Minute, "operation_timeout", reply)
	if reply.Diagnostics.HasError() {
		return
	}
	created, err := client.New(options)
	if err != nil {
		reply.Diagnostics.AddError("The configuration of the provider is invalid", err.Error()+".")
		return
	}
	shared := &config{client: created, operationTimeout: operationTimeout}
	reply.ResourceData, reply.DataSourceData = shared, shared
}

func (p *shardboard) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		database.resource, databaseAlerts.resource, role.resource, redisACL.resource, user.resource,
		ldapMapping.resource, webhook.resource, clusterAlerts.resource, clusterPolicy.resource,
	}
}

func (p *shardboard) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		database.dataSource, role.dataSource, redisACL.dataSource, databases.dataSource, nodes.dataSource, cluster.dataSource,
	}
}

func orEnvironment(value types.String, name string) string {
	if value.ValueString() != "" {
		return value.ValueString()
	}
	return os.Getenv(name)
}

func duration(
	value types.String, fallback time.Duration, name string, reply *provider.ConfigureResponse,
) time.Duration {
	if value.IsNull() {
		return fallback
	}
	parsed, err := time.ParseDuration(value.ValueString())
	if err != nil || parsed <= 0 {
		reply.Diagnostics.AddAttributeError(path.Root(name), "Invalid duration", name+" must be a duration such as 30s or 10m.")
	}
	return parsed
}
