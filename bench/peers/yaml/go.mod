module kiln/bench/peers/yaml

go 1.24.0

require go.yaml.in/yaml/v3 v3.0.4
