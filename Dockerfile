# axiond, the server, and axion, its command line client.
#
#   docker build -t axion .                          CPU only
#   docker build -t axion --build-arg AXION_CUDA=ON --build-arg CUDA_IMAGE=<image with /usr/local/cuda> .
#   docker build -t axion --build-arg BASE=<an image of Debian 12> .
#
# See deploy/README.md for how to run it; deploy/image_test.sh builds it, runs it and has robots walk in it.
ARG BASE=debian:12-slim
ARG CUDA_IMAGE=${BASE}

# ---- The CUDA toolkit, or an empty folder ----------------------------------------------------------------------------
FROM ${CUDA_IMAGE} AS toolkit
RUN if [ -d /usr/local/cuda ]; then mv "$(readlink -f /usr/local/cuda)" /toolkit; else mkdir /toolkit; fi

# ---- Build -----------------------------------------------------------------------------------------------------------
FROM ${BASE} AS build
ARG AXION_CUDA=OFF
COPY deploy/setup.sh /source/deploy/setup.sh
RUN /source/deploy/setup.sh build && rm -rf /var/lib/apt/lists/*
COPY --from=toolkit /toolkit /usr/local/cuda
COPY . /source
WORKDIR /source
RUN cmake --preset release -DAXION_CUDA=${AXION_CUDA} -DAXION_BUILD_TESTS=OFF \
    && cmake --build --preset release --target axiond axion \
    && strip build/release/bin/axiond build/release/bin/axion
# The Debian packages of the shared libraries that the two programs load, found rather than listed twice. What is not found
# by its path is part of the base image; the programs are started below to see that nothing is missing.
RUN ldd build/release/bin/axiond build/release/bin/axion | awk '/=> \// {print $3}' | xargs -r readlink -f | sort -u \
    | xargs -r dpkg-query -S 2>/dev/null | cut -d: -f1 | sort -u > /runtime-packages

# ---- Run -------------------------------------------------------------------------------------------------------------
FROM ${BASE}
COPY --from=build /runtime-packages /tmp/runtime-packages
RUN apt-get update -qq \
    && xargs -a /tmp/runtime-packages apt-get install -y -qq --no-install-recommends \
    && rm -rf /var/lib/apt/lists/* /tmp/runtime-packages \
    && useradd --system --uid 8470 --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin axion \
    && install -d -o 8470 -g 8470 -m 0700 /var/lib/axion
COPY --from=build /source/build/release/bin/axiond /source/build/release/bin/axion /usr/local/bin/
RUN axiond --version && axion --version
# By number, so that an orchestrator that insists on a user without privileges sees that this is one.
USER 8470
EXPOSE 8470 9470
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["axion", "info", "--timeout=2s"]
ENTRYPOINT ["axiond", "--listen=0.0.0.0:8470", "--metrics_listen=0.0.0.0:9470"]
# Inside the container every address is the container's own; who reaches it is decided where its ports are published. Arguments
# of your own replace this one: TLS and tokens (docs/security.md), or --insecure again beside others.
CMD ["--insecure"]
