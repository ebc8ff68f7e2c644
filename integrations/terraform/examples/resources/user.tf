resource "shardboard_user" "reporting" {
  name                = "reporting"
  role_uids           = [shardboard_role.readers.uid]
  password_wo         = var.reporting_password
  password_wo_version = 1
}

variable "reporting_password" {
  type      = string
  sensitive = true
  ephemeral = true
}
