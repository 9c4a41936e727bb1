// @generator@: test bench of the cluster @name@.
// A host reads the identity and the count of cycles over the AXI4-Lite slave. All domains have one
// clock, no clock is gated, and DRAM does not answer: a first test of an integration.

module @name@_tb;
  localparam [15:0] IDENTITY = @identity_address@;
  localparam [15:0] CYCLES = @cycles_address@;

  reg clk = 1'b0;
  reg rst = 1'b1;
  reg [15:0] araddr = 16'h0000;
  reg arvalid = 1'b0;
  wire arready;
  wire [31:0] rdata;
  wire [1:0] rresp;
  wire rvalid;
  reg [31:0] identity, first, second;

  always #5 clk = ~clk;

  @name@ dut(
@connections@
  );

  // Inputs of the cluster change at falling edges, its outputs are sampled at rising ones.
  task read(input [15:0] address, output [31:0] value);
    begin
      @(negedge clk);
      araddr = address;
      arvalid = 1'b1;
      @(posedge clk);
      while (!arready) @(posedge clk);
      @(negedge clk);
      arvalid = 1'b0;
      @(posedge clk);
      while (!rvalid) @(posedge clk);
      value = rdata;
      if (rresp != 2'b00) fail("an access was refused");
    end
  endtask

  task fail(input [8*32-1:0] reason);
    begin
      $display("FAIL: %0s", reason);
      $finish;
    end
  endtask

  initial begin
    repeat (4) @(negedge clk);
    rst = 1'b0;
    read(IDENTITY, identity);
    read(CYCLES, first);
    read(CYCLES, second);
    if (identity !== @identity@) fail("identity is wrong");
    else if (!(second > first)) fail("cycles are not counted");
    else $display("PASS: @name@ has identity %h and counts cycles", identity);
    $finish;
  end

  initial begin
    repeat (10000) @(posedge clk);
    fail("no response");
  end
endmodule
