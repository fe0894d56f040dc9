{{/* Egress that all components need. */}}
{{- define "berth.egress.names" -}}
# Names.
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}
