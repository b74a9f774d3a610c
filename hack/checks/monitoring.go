package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// decodeMonitoring reads manifests strictly into the types that the Prometheus operator's CRDs are generated from.
func decodeMonitoring(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = decodeOne(document)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

func decodeOne(document []byte) error {
	var meta struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := sigsyaml.Unmarshal(document, &meta); err != nil {
		return err
	}
	if meta.APIVersion != monitoringv1.SchemeGroupVersion.String() {
		return fmt.Errorf("apiVersion %q is not of the Prometheus operator", meta.APIVersion)
	}
	switch meta.Kind {
	case monitoringv1.ServiceMonitorsKind:
		return sigsyaml.UnmarshalStrict(document, &monitoringv1.ServiceMonitor{})
	case monitoringv1.PrometheusRuleKind:
		return sigsyaml.UnmarshalStrict(document, &monitoringv1.PrometheusRule{})
	default:
		return fmt.Errorf("kind %q is not known here", meta.Kind)
	}
}
