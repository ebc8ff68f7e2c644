// Command terraform-provider-shardboard is a Terraform provider for Shardboard and Redis Software.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/shardboard/terraform-provider-shardboard/internal/provider"
)

// version is set by the linker in releases.
var version = "dev"

func main() {
	options := providerserver.ServeOpts{Address: "registry.terraform.io/shardboard/shardboard"}
	if err := providerserver.Serve(context.Background(), provider.New(version), options); err != nil {
		log.Fatal(err)
	}
}
