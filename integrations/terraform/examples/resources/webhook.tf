resource "shardboard_webhook" "pager" {
  name              = "pager"
  url               = "https://pager.example.org/shardboard"
  secret_wo         = var.pager_secret
  secret_wo_version = 1
  events            = "alarms"
  min_severity      = "ERROR"
}

variable "pager_secret" {
  type      = string
  sensitive = true
  ephemeral = true
}
