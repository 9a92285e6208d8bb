# What a person moves out of Junk, but not into Trash, is learned as ham (imapsieve).
require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment", "variables"];

if environment :matches "imap.mailbox" "*" {
  set "mailbox" "${1}";
}
if string "${mailbox}" "Trash" {
  stop;
}
pipe :copy "suffice-learn" ["ham"];
