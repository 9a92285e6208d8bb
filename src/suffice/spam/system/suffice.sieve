# Stamps mail as it is delivered, and files spam into Junk. Needs the plugin sieve_extprograms of Dovecot, and the program
# suffice-stamp in sieve_filter_bin_dir; see dovecot.conf beside.
require ["vnd.dovecot.filter", "fileinto", "mailbox"];

filter "suffice-stamp";
if header :is "X-Suffice-Status" "spam" {
  fileinto :create "Junk";
}
