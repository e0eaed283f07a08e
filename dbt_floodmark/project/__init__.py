"""What a command asks of a project: dbt's answers, its models, the ledger."""
