{{/* What the pods have in common: nothing in them is privileged or writable that need not be. */}}

{{- define "berth.pod.security" -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "berth.container.security" -}}
image: {{ include "berth.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "berth.container.environment" -}}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end -}}

{{- define "berth.container.logs" -}}
- --log-format={{ .Values.logs.format }}
- --zap-log-level={{ .Values.logs.level }}
{{- end -}}

{{/* Where pods run; the argument has `root`, `component` and its `values`. */}}
{{- define "berth.pod.scheduling" -}}
{{- with include "berth.priorityClass" .root }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
  -
    {{- toYaml . | nindent 4 }}
    labelSelector:
      matchLabels:
        {{- include "berth.selector" $ | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}
