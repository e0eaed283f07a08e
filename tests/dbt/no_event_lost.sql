{{ config(enabled=target.profile_name == 'floodmark') }}

-- Events of bronze that silver lacks, or has another number of times.
with bronze as (
    select
        EventSeq as event_seq,
        count(*) as events
    from {{ ref('bronze_pos_events') }}
    group by EventSeq
),

silver as (
    select
        event_seq,
        count(*) as events
    from {{ ref('silver_pos_events') }}
    group by event_seq
)

select
    event_seq,
    bronze.events as bronze_events,
    silver.events as silver_events
from bronze
full outer join silver using (event_seq)
where not bronze.events <=> silver.events
