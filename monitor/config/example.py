"""The first configuration file, as `monitor config init` writes it: it works as it stands."""

from __future__ import annotations

EXAMPLE = """\
# Which endpoints are monitored, what they should be, and how they may be asked.
# `monitor config check` checks this file.
version: 1

models:
  smol:
    # What the model should be. "bundled" is a small model that `reference-engine models fetch` brings;
    # a path to a .gguf file or to a folder with safetensors works as well. Without `reference`, an
    # endpoint is compared with its own past only.
    reference:
      weights: bundled
      # The numerics that a provider may run; any other is a finding.
      allowed_profiles: [fp32, bf16]

providers:
  # A model server on this machine: `reference-engine serve --port 8001` starts one.
  - slug: x
    base_url: http://127.0.0.1:8001/v1
    allow_private: true  # http, and private or loopback addresses, need this
    models:
      - { model: smol, name: smol }

  # A provider on the internet. Keys are never written into this file: ${env:NAME} and ${file:PATH} say
  # where they are.
  # - slug: acme
  #   base_url: https://api.example.com/v1
  #   api_key: ${env:ACME_API_KEY}
  #   limits: { rpm: 60, max_concurrency: 4 }
  #   models:
  #     - { model: smol, name: acme/smol, labels: { tier: prod } }

# What the service does by itself; `monitor up` starts it.
# defaults: { every: 15m, daily_budget_usd: 2 }
# schedules:
#   - { id: nightly, match: { tier: prod }, cron: "0 3 * * *", tz: Europe/Berlin, n: 200 }
# channels:
#   - { id: ops, url: "${env:OPS_HOOK}", secret: "${env:OPS_HOOK_SECRET}" }
# routes:
#   - { id: urgent, match: { severity: critical }, to: [ops] }
# maintenance:
#   - { id: sundays, match: { provider: acme }, rrule: "FREQ=WEEKLY;BYDAY=SU;BYHOUR=2", duration: 2h }
# retention: { bodies: 14d, samples: 90d }
"""
