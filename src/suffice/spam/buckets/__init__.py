"""Buckets: kinds of wanted mail, such as newsletters, receipts and work, beside spam and ham."""
