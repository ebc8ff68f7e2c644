package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// notEmpty rejects the empty text, which the REST API returns for a missing value.
type notEmpty struct{}

func (notEmpty) Description(context.Context) string { return "The value must not be empty." }

func (v notEmpty) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (notEmpty) ValidateString(_ context.Context, request validator.StringRequest, reply *validator.StringResponse) {
	if isKnown(request.ConfigValue) && request.ConfigValue.ValueString() == "" {
		detail := fmt.Sprintf("%s must not be empty. Remove the attribute instead.", request.Path)
		reply.Diagnostics.AddAttributeError(request.Path, "Empty value", detail)
	}
}
