# The service's one image: web, worker, beat and reference differ in their commands only (compose.yaml).
FROM python:3.12-slim

# The reference engine's kernels are built where they run.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ \
 && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home --uid 10001 monitor \
 && install --directory --owner monitor --mode 0700 /data
WORKDIR /app

# The versions of the lock, without what only tests need; torch for the CPU, since the wheel for CUDA brings gigabytes.
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu "$(grep --only-matching '^torch==[^ ]*' requirements.lock)"
COPY reference_engine reference_engine
COPY probes probes
COPY monitor monitor
COPY dashboards dashboards
COPY migrations migrations
RUN pip install --no-cache-dir --constraint requirements.lock . && reference-engine models fetch bundled

USER monitor
ENV PYTHONUNBUFFERED=1 MONITOR_DATA_DIR=/data
CMD ["monitor", "--help"]
