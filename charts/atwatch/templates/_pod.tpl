{{- define "atwatch.args" -}}
{{- if .Values.leaderElection.enabled }}
- --leader-elect
{{- end }}
{{- if .Values.admissionPolicies.enabled }}
- --policy-self-test
{{- end }}
# The kubelet probes the Pod's own address. Metrics stay on the loopback address unless the cluster is to have them.
- --health-probe-bind-address=:8081
{{- if .Values.metrics.enabled }}
- --metrics-bind-address=:{{ .Values.metrics.port }}
{{- if .Values.metrics.secure }}
- --secure-metrics
{{- with .Values.metrics.certificateSecret }}
- --metrics-cert-path=/metrics-certificate
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.profiling.enabled }}
- --profiling
- --profiling-bind-address=127.0.0.1:{{ .Values.profiling.port }}
{{- end }}
{{- if ne .Values.logLevel "info" }}
- --log-level={{ .Values.logLevel }}
{{- end }}
{{- if .Values.secretAccess }}
- --secret-access
{{- end }}
{{- if .Values.annotationController }}
- --annotation-controller
{{- end }}
{{- if or .Values.annotatedWorkloads .Values.reloaderAnnotations }}
- --annotated-workloads
{{- end }}
{{- if .Values.reloaderAnnotations }}
- --reloader-annotations
{{- end }}
{{- if .Values.autoReloadAll }}
- --auto-reload-all
{{- end }}
{{- if .Values.authorCheck }}
- --author-check
{{- end }}
{{- if ne (toString .Values.failoverLaunchDelay) "1s" }}
- --failover-launch-delay={{ .Values.failoverLaunchDelay }}
{{- end }}
{{- with .Values.at.defaultImage }}
- {{ printf "--at-default-image=%s" . | quote }}
{{- end }}
{{- if not (kindIs "invalid" .Values.at.defaultTtlSecondsAfterFinished) }}
- --at-default-ttl-seconds-after-finished={{ int64 .Values.at.defaultTtlSecondsAfterFinished }}
{{- end }}
{{- if not (kindIs "invalid" .Values.at.defaultStartingDeadlineSeconds) }}
- --at-default-starting-deadline-seconds={{ int64 .Values.at.defaultStartingDeadlineSeconds }}
{{- end }}
{{- if not .Values.at.outputInStatus }}
- --at-output-in-status=false
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Wished for, not required: two on one node are better than one. */}}
{{- define "atwatch.affinity" -}}
{{- if .Values.affinity }}
{{- toYaml .Values.affinity }}
{{- else if gt (int .Values.replicas) 1 -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    {{- range $key, $weight := dict "kubernetes.io/hostname" 100 "topology.kubernetes.io/zone" 50 }}
    - weight: {{ $weight }}
      podAffinityTerm:
        topologyKey: {{ $key }}
        labelSelector:
          matchLabels:
            {{- include "atwatch.selectorLabels" $ | nindent 12 }}
    {{- end }}
{{- end }}
{{- end }}
