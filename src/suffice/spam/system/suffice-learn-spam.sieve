# What a person moves into Junk is learned as spam (imapsieve).
require ["vnd.dovecot.pipe", "copy", "imapsieve"];

pipe :copy "suffice-learn" ["spam"];
