{#
  Keeps the history of the rows that a model selects. The SELECT is the source; the other options of a spec are under
  meta.scdgen in the config. The statements are macros of the project, which `scdgen generate --format dbt` writes.
  Spark 4.1 or Databricks Runtime 16.3. For dbt-databricks too, because its macros extend those of dbt-spark.
#}
{% materialization scdgen, adapter='spark' %}
  {% set name = 'scdgen_' ~ model.unique_id.split('.')[2:] | join('_') %}
  {% set facts = scdgen.find_facts(name) %}
  {% set target = this.incorporate(type='table') %}
  {% set existing = load_relation(this) %}
  {% if existing is not none %}
    {% if not existing.is_table %}
      {% do exceptions.relation_wrong_type(existing, 'table') %}
    {% endif %}
    {% do scdgen.check_table(target, facts.properties) %}
  {% endif %}

  {# dbt-spark turns it off for each connection, that is, for each model, and values that do not fit would change. #}
  {% if target.type == 'spark' %}
    {% do run_query('set spark.sql.ansi.enabled = true') %}
  {% endif %}
  {{ run_hooks(pre_hooks) }}

  {% do context[name ~ '_create'](target) %}
  {# After the table, so that the SELECT can read it. The name has the schema, because models may share a session. #}
  {% set rows = adapter.quote('scdgen_' ~ this.schema ~ '_' ~ this.identifier) %}
  {% call statement('rows') %}
    create or replace temporary view {{ rows }} as
    {{ sql }}
  {% endcall %}
  {% do context[name ~ '_merge'](target, rows) %}
  {% call statement('drop_rows') %}
    drop view if exists {{ rows }}
  {% endcall %}

  {% do apply_grants(target, config.get('grants'), should_revoke(existing, full_refresh_mode=False)) %}
  {% do persist_docs(target, model) %}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target]}) }}
{% endmaterialization %}


{# What the model's macros were written for; an error if there are none, or if its options have changed since. #}
{% macro find_facts(name) %}
  {% set options = model.config.meta.get('scdgen') %}
  {% set facts = context[name ~ '_facts']() if name ~ '_facts' in context else {} %}
  {% if facts.options != local_md5(tojson(options, sort_keys=true)) %}
    {% do exceptions.raise_compiler_error(
      model.name ~ ': its macros are ' ~ ('not those of meta.scdgen' if facts else 'missing')
      ~ '; run `dbt parse` and `scdgen generate --format dbt`'
    ) %}
  {% endif %}
  {{ return(facts) }}
{% endmacro %}


{# An error if stored rows would not have the meaning that the options give them. #}
{% macro check_table(relation, wanted) %}
  {% set stored = {} %}
  {% for row in run_query('show tblproperties ' ~ relation).rows %}
    {% do stored.update({row[0]: row[1]}) %}
  {% endfor %}
  {# Spark hides a value there if it has a word such as url or token in it, from the name of a column. #}
  {% if '(redacted)' in stored.values() | join %}
    {% set detail = run_query('describe detail ' ~ relation).columns['properties'][0] %}
    {% do stored.update(fromjson(detail) or scdgen.read_map(detail, stored)) %}
  {% endif %}
  {% if 'scdgen.pattern' not in stored %}
    {% do exceptions.raise_compiler_error(
      relation ~ ': the table was not created by scdgen; give the model another alias, or rename the table'
    ) %}
  {% endif %}
  {% for name, value in wanted.items() %}
    {# The order of columns has no meaning. #}
    {% set was = stored.get(name) or '' %}
    {% set was_set = fromjson(was) | sort if was.startswith('[') else was %}
    {% if was_set != (fromjson(value) | sort if value.startswith('[') else value) %}
      {% do exceptions.raise_compiler_error(
        relation ~ ': the table has ' ~ name ~ ' = ' ~ (was or 'nothing') ~ ', the model says ' ~ value
        ~ '; change the table first, see docs/how-to/change-a-spec.md of scdgen, or give the model another alias'
      ) %}
    {% endif %}
  {% endfor %}
{% endmacro %}


{# A map as a Thrift server shows it, {"name":"value",…} with no quote in a value escaped; names has all of its names. #}
{% macro read_map(text, names) %}
  {% set found = {} %}
  {% for name in names if '"' ~ name ~ '":"' in text %}
    {% set value = namespace(text=text.partition('"' ~ name ~ '":"')[2].removesuffix('"}')) %}
    {% for other in names %}
      {% set value.text = value.text.partition('","' ~ other ~ '":"')[0] %}
    {% endfor %}
    {% do found.update({name: value.text}) %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}
